import { afterAll, beforeAll, expect, it } from "vitest";
import { openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";

const DAY_MS = 86_400_000;

let identity: Identity;
let orgUuid: string;
beforeAll(async () => {
  identity = await openIdentity();
  await identity.login.bootstrap(identity.owner);
  orgUuid = (await identity.me((await identity.loginOwner()).accessToken)).orgUuid ?? "";
});
afterAll(() => identity.close());

const kids = async (): Promise<string[]> =>
  (await identity.sql<{ kid: string }>("select kid from signing_keys where org_uuid = $1 order by kid", [orgUuid])).map(
    ({ kid }) => kid,
  );

/** Adds a key whose overlap ended now. */
async function addRetiredKey(kid: string): Promise<void> {
  await identity.sql(
    `insert into signing_keys (kid, org_uuid, algorithm, public_jwk, public_pem, private_key, active, valid_until,
       retired_at, created_at)
     select $1, org_uuid, algorithm, public_jwk, public_pem, private_key, false, $2, $2, created_at
     from signing_keys where org_uuid = $3 and active`,
    [kid, new Date(identity.clock.now()), orgUuid],
  );
}

it("retired signing keys are deleted 30 days after their overlap, except those whose signatures are needed", async () => {
  const [active = ""] = await kids();
  for (const kid of ["ended", "signed", "heads"]) await addRetiredKey(kid);
  const until = new Date(identity.clock.now() + 60 * DAY_MS);
  await identity.sql("insert into signing_key_uses (kid, until) values ('signed', $1)", [until]);
  await identity.sql(
    `insert into audit_heads (org_key, position, hash, signature, kid, at, seal) values ($1, 1, '', '', 'heads', $2, '')
     on conflict (org_key) do update set kid = excluded.kid`,
    [orgUuid, new Date(identity.clock.now())],
  );

  const { retiredKeys, signatures } = identity.keys.tidy;
  identity.clock.advance(30 * DAY_MS);
  expect(await retiredKeys()).toBe(0);
  identity.clock.advance(1);
  expect(await retiredKeys()).toBe(1);
  expect(await kids()).toEqual([active, "heads", "signed"].sort());

  identity.clock.advance(31 * DAY_MS);
  await signatures();
  expect(await retiredKeys()).toBe(1);
  await identity.sql("update audit_heads set kid = $1 where org_key = $2", [active, orgUuid]);
  expect(await retiredKeys()).toBe(1);
  expect(await kids()).toEqual([active]);
});

it("a replaced signing key is not deleted before the end of its overlap is recorded", async () => {
  await addRetiredKey("unrecorded");
  await identity.sql("update signing_keys set retired_at = null where kid = 'unrecorded'");
  identity.clock.advance(365 * DAY_MS);
  expect(await identity.keys.tidy.retiredKeys()).toBe(0);
  expect(await kids()).toContain("unrecorded");
});
