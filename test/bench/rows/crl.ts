import { randomUUID } from "node:crypto";
import { get } from "node:http";
import { callRest } from "../../support/app.ts";
import { runSql } from "../../support/postgres.ts";
import { organizationOf } from "../seeded-people.ts";
import type { Service } from "../service.ts";
import type { RatioRow, Side } from "./row.ts";

const MANY = 100_000;
const FEW = 10;

/** Makes an identity in the organization of a session, with revoked SVIDs that have not expired. */
async function revokedSvids(service: Service, session: number, count: number): Promise<string> {
  const org = organizationOf(service, session);
  const { status, body } = await callRest(
    `http://127.0.0.1:${service.port}`,
    "POST",
    `/api/organizations/${org}/service-identities`,
    { token: service.tokens[session], body: { name: `revoked ${randomUUID()}`, role_id: 3 } },
  );
  if (status !== 201) throw new Error(`the creation of an identity was answered ${status}`);
  await runSql(
    service.databaseUrl,
    `insert into svids
       (svid_id, identity_id, org_uuid, spiffe_id, serial, not_before, not_after, created_at, revoked_at)
     select gen_random_uuid(), $1, $2, 'spiffe://bench.test/svc', '4a' || lpad(to_hex(n), 30, '0'), now(),
       now() + interval '1 day', now(), now()
     from generate_series(1, $3::integer) n`,
    [body.identity_id, org, count],
  );
  return `/orgs/${org}/.well-known/ca.crl?issuer=spiffe`;
}

/** Milliseconds until the head of a response is there. */
function firstByte(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    get({ host: "127.0.0.1", port, path }, (response) => {
      const took = performance.now() - started;
      response.on("end", () => resolve(took)).on("error", reject);
      response.resume();
      if (response.statusCode !== 200) reject(new Error(`${path} was answered ${response.statusCode}`));
    }).on("error", reject);
  });
}

/**
 * The p50 of the time to the first byte, one read after another. Between two of them the short list is read, untimed:
 * else the body before, which leaves the caches of both processes cold, would count to the first byte after it.
 */
function side(name: string, { port }: Service, path: string, short: string): Side {
  return {
    name,
    async measure(seconds) {
      const end = performance.now() + seconds * 1_000;
      const times: number[] = [];
      while (times.length === 0 || performance.now() < end) {
        await firstByte(port, short);
        times.push(await firstByte(port, path));
      }
      times.sort((a, b) => a - b);
      return { value: times[Math.floor(times.length / 2)] ?? Number.NaN };
    },
  };
}

/** What the length of a revocation list costs its readers before the first byte. */
export const crlReads: RatioRow = {
  kind: "ratio",
  name: "crl-read",
  title: "CRL of a SPIFFE root, time to the first byte: 100,000 revoked, against 10",
  unit: "ms",
  target: 1.5,
  at: "most",
  async sides(environment) {
    const service = await environment.service();
    const [long, short] = [await revokedSvids(service, 0, MANY), await revokedSvids(service, 1, FEW)];
    return [side("100,000 revoked", service, long, short), side("10 revoked", service, short, short)];
  },
};
