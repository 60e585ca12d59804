import { callRest } from "../../support/app.ts";
import { organizationOf } from "../seeded-people.ts";
import type { Service } from "../service.ts";
import type { Environment } from "../environment.ts";
import { meOverRest } from "./me.ts";
import type { RatioRow, Sample } from "./row.ts";

// As many as for `/me`, against which reads are compared.
const readers = 192;
/** Writes that are in flight at once: enough to keep every connection of the service busy. */
const writers = 32;
/** Connections the service has for transactions, and what the bare side gets too. */
const connections = 10;
const value = "a secret of a usual length, such as a password or a token";
const json = { "content-type": "application/json" };

const pathOf = (service: Service, session: number, name: string): string =>
  `/api/admin/organizations/${organizationOf(service, session)}/secrets/${name}`;

/** Requests of every session to a secret of its organization. */
function requestsOf(
  environment: Environment,
  service: Service,
  method: string,
  nameOf: (session: number) => string,
  body?: string,
): string {
  return environment.requests(
    service.tokens.map((token, session) => ({
      method,
      path: pathOf(service, session, nameOf(session)),
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && json) },
      ...(body !== undefined && { body }),
    })),
  );
}

/** Reads of secrets, each recorded in the audit log, against a read that records nothing. */
const secretReads: RatioRow = {
  kind: "ratio",
  name: "secret-read",
  title: "GET of a secret over REST, against GET /api/auth/me over REST",
  unit: "req/s",
  target: 0.75,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    for (const [session, token] of service.tokens.entries()) {
      const path = pathOf(service, session, "read");
      const { status } = await callRest(`http://127.0.0.1:${service.port}`, "PUT", path, { token, body: { value } });
      if (status !== 200) throw new Error(`the write of a secret was answered ${status}`);
    }
    const file = requestsOf(environment, service, "GET", () => "read");
    return [
      {
        name: "Atrium, secrets",
        measure: (seconds) =>
          environment.load({ protocol: "http1", port: service.port, connections: readers, file, seconds }, service.pid),
      },
      await meOverRest(environment),
    ];
  },
};

/** Writes of secrets against the same inserts with the same encryption, without the service. */
const secretWrites: RatioRow = {
  kind: "ratio",
  name: "secret-write",
  title: "PUT of a secret over REST, against bare transactions of the same inserts with AES-256-GCM",
  unit: "1/s",
  target: 0.55,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const bare = await environment.server<object>("baselines/sealed-inserts.ts", {
      DATABASE: await environment.schemaDatabase(),
      CONNECTIONS: String(connections),
      VALUE: value,
    });
    // Writes of one name wait for each other, on both sides: here, as there, those in flight have different names.
    const file = requestsOf(environment, service, "PUT", (session) => `written-${session}`, JSON.stringify({ value }));
    return [
      {
        name: "Atrium, writes",
        measure: (seconds) =>
          environment.load({ protocol: "http1", port: service.port, connections: writers, file, seconds }, service.pid),
      },
      { name: "bare transactions", measure: (seconds) => bare.ask<Sample>({ seconds }) },
    ];
  },
};

/** The vault. */
export const vaultRows = [secretReads, secretWrites] as const;
