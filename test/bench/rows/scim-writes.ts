import { callRest } from "../../support/app.ts";
import type { Environment } from "../environment.ts";
import { directories } from "../scim-directories.ts";
import { SCIM_JSON, scimUser } from "../scim-users.ts";
import type { Service } from "../service.ts";
import type { RatioRow, Sample, Side } from "./row.ts";

/** Connections the service has for transactions, and what the bare side gets too. */
const connections = 10;
/** Requests that are in flight at once: the number for both single creates and Bulk. */
const inFlight = 16;
/** Users for each second of a round: more than any service makes on one core. */
const perSecond = 2_000;
/** Operations of a Bulk request. */
const bulkOperations = 1_000;

/** Single creates over REST. */
async function creates(environment: Environment, service: Service): Promise<Side> {
  const targets = await directories(service);
  return {
    name: "Atrium, single creates",
    measure(seconds) {
      const file = environment.requests(
        Array.from({ length: Math.ceil(seconds * perSecond) }, (_, i) => {
          const { base, token } = targets[i % targets.length] as (typeof targets)[number];
          return {
            method: "POST",
            path: `${base}/Users`,
            headers: { authorization: `Bearer ${token}`, ...SCIM_JSON },
            body: JSON.stringify(scimUser()),
          };
        }),
      );
      return environment.load(
        { protocol: "http1", port: service.port, connections: inFlight, file, once: true, seconds, status: 201 },
        service.pid,
      );
    },
  };
}

/** Creates of users by SCIM against the same inserts without the service. */
const scimCreates: RatioRow = {
  kind: "ratio",
  name: "scim-create",
  title: "SCIM creates of users, against bare transactions of the same inserts",
  unit: "1/s",
  target: 0.5,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const bare = await environment.server<object>("baselines/new-user-inserts.ts", {
      DATABASE: await environment.schemaDatabase(),
      CONNECTIONS: String(connections),
    });
    return [
      await creates(environment, service),
      { name: "bare transactions", measure: (seconds) => bare.ask<Sample>({ seconds }) },
    ];
  },
};

/** Users a second by Bulk requests, one after another in each organization, against single creates. */
const scimBulk: RatioRow = {
  kind: "ratio",
  name: "scim-bulk",
  title: "SCIM Bulk of 1,000 creates, against single creates at 16 connections",
  unit: "users/s",
  target: 1.5,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const single = await creates(environment, service);
    const [target] = await directories(service);
    if (target === undefined) throw new Error("the bench has no organization");
    const bulk = async (): Promise<void> => {
      const { status, body } = await callRest(`http://127.0.0.1:${service.port}`, "POST", `${target.base}/Bulk`, {
        token: target.token,
        headers: SCIM_JSON,
        body: {
          schemas: ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
          Operations: Array.from({ length: bulkOperations }, (_, n) => ({
            method: "POST",
            path: "/Users",
            bulkId: String(n),
            data: scimUser(),
          })),
        },
      });
      const refused = (body.Operations as { status: string }[]).find((operation) => operation.status !== "201");
      if (status !== 200 || refused !== undefined)
        throw new Error(`Bulk answered ${status} ${JSON.stringify(refused)}`);
    };
    return [
      {
        name: "Atrium, Bulk",
        async measure(seconds) {
          const started = performance.now();
          let requests = 0;
          for (; performance.now() - started < seconds * 1_000; requests++) await bulk();
          return { value: (requests * bulkOperations) / ((performance.now() - started) / 1_000) };
        },
      },
      single,
    ];
  },
};

/** Writes by SCIM. */
export const scimWrites = [scimCreates, scimBulk] as const;
