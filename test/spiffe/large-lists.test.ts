import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { DerReader, TAGS } from "../../src/platform/x509/der.ts";
import { encodedEntriesOf } from "../../src/platform/x509/revocation-list.ts";
import { authorityOf } from "../mtls-ca/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";
import { issue, workloads } from "./support.ts";
import type { Workloads } from "./support.ts";

/** Certificates that were revoked before. */
const REVOKED = 100_000;

let app: TestApp;
let owner: Workloads;
beforeAll(async () => {
  app = await startApp();
});
beforeEach(async () => {
  owner = await workloads(app);
});
afterAll(() => app.close());

/** Number of the list by its entity tag, and how many entries it has. */
async function read(query: string): Promise<{ number: number; entries: number }> {
  const answer = await fetch(`${app.url}/orgs/${owner.org}/.well-known/ca.crl${query}`);
  expect(answer.status).toBe(200);
  const entries = new DerReader(encodedEntriesOf(Buffer.from(await answer.arrayBuffer())));
  let count = 0;
  for (; entries.optional(TAGS.sequence) !== undefined; count++);
  return { number: Number(/(\d+)(?:-der)?"$/u.exec(answer.headers.get("etag") ?? "")?.[1]), entries: count };
}

/** Reads a list; resolves to how many other requests, one after another, were answered meanwhile too. */
async function readAmongOthers(query: string) {
  let isRead = false;
  const reading = read(query).finally(() => (isRead = true));
  let answered = 0;
  for (; !isRead; answered++) expect((await app.call("GET", "/healthz")).status).toBe(200);
  return { ...(await reading), answered };
}

test("a list of 100,000 revoked SVIDs is signed again with one more, and other requests are answered", async () => {
  await runSql(
    app.databaseUrl,
    `insert into svids
       (svid_id, identity_id, org_uuid, spiffe_id, serial, not_before, not_after, created_at, revoked_at)
     select gen_random_uuid(), $1, $2, 'spiffe://seeded', '4a' || lpad(to_hex(n), 30, '0'), $3, $4, $3, $3
     from generate_series(1, $5::int) n`,
    [owner.identityId, owner.org, new Date(app.clock.now()), new Date(app.clock.now() + 3_600_000), REVOKED],
  );
  const one = (await issue(app, owner)).body.svid_id as string;
  const other = (await issue(app, owner)).body.svid_id as string;
  const revoke = (id: string) => app.call("DELETE", `/api/auth/spiffe/svids/${id}`, { token: owner.token });
  expect((await revoke(one)).status).toBe(204);
  const before = await read("?issuer=spiffe");
  expect(before.entries).toBe(REVOKED + 1);
  expect((await revoke(other)).status).toBe(204);
  const after = await readAmongOthers("?issuer=spiffe");
  expect(after).toMatchObject({ number: before.number + 1, entries: REVOKED + 2 });
  expect(after.answered).toBeGreaterThan(5);
});

test("a list of 100,000 revoked certificates is signed again with one more, and other requests are answered", async () => {
  const ca = authorityOf(app, owner);
  const { ca_uuid: caUuid } = (await ca.create()).body as { ca_uuid: string };
  const one = (await ca.issue()).body.cert_uuid as string;
  await runSql(
    app.databaseUrl,
    `insert into mtls_certificates (cert_uuid, ca_uuid, org_uuid, serial, common_name, sans, fingerprint, certificate,
       metadata, created_at, not_before, not_after, revoked_at, revocation)
     select gen_random_uuid(), $1, $2, '4a' || lpad(to_hex(n), 30, '0'), 'seeded', '{}', '', '', '{}', $3, $3, $4, $3, n
     from generate_series(1, $5::int) n`,
    [caUuid, owner.org, new Date(app.clock.now()), new Date(app.clock.now() + 3_600_000), REVOKED],
  );
  await runSql(app.databaseUrl, "update mtls_cas set revocations = $2 where ca_uuid = $1", [caUuid, REVOKED]);
  const before = await readAmongOthers("");
  expect(before.entries).toBe(REVOKED);
  expect(before.answered).toBeGreaterThan(5);
  expect((await ca.revoke(one)).status).toBe(204);
  expect(await readAmongOthers("")).toMatchObject({ number: before.number + 1, entries: REVOKED + 1 });
});
