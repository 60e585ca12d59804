import { afterAll, beforeAll, expect, it } from "vitest";
import { openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import { enrolled } from "./support.ts";

const hour = 3_600_000;

let identity: Identity;
beforeAll(async () => {
  identity = await openIdentity();
});
afterAll(() => identity.close());

const tidy = async (): Promise<number[]> => [
  await identity.mfa.tidy.secondFactors(),
  await identity.stepUp.tidy.stepUpChallenges(),
];

const left = async (): Promise<number[]> => {
  const [row] = await identity.sql<{ tokens: number; challenges: number }>(
    `select (select count(*)::int from mfa_tokens) as tokens,
       (select count(*)::int from step_up_challenges) as challenges`,
  );
  return [row?.tokens ?? -1, row?.challenges ?? -1];
};

it("tidying deletes expired mfa_tokens, and step-up challenges a day after their expiry", async () => {
  const [early, late] = [await enrolled(identity), await enrolled(identity)];
  const begin = async (who: typeof early): Promise<void> => {
    await who.pass();
    await identity.stepUp.challenge(identity.context(who.caller), "password");
  };
  await begin(early);
  identity.clock.advance(299_000);
  await begin(late);
  expect(await tidy()).toEqual([0, 0]);
  expect(await left()).toEqual([2, 2]);
  identity.clock.advance(2_000);
  expect(await tidy()).toEqual([1, 0]);
  expect(await left()).toEqual([1, 2]);
  identity.clock.advance(24 * hour);
  expect(await tidy()).toEqual([1, 1]);
  expect(await left()).toEqual([0, 1]);
  identity.clock.advance(hour);
  expect(await tidy()).toEqual([0, 1]);
  expect(await tidy()).toEqual([0, 0]);
});

it("tidying deletes factors 90 days after they were disabled, and no others", async () => {
  const [leaving, staying] = [await enrolled(identity), await enrolled(identity)];
  await identity.sql(
    "update mfa_factors set status = 'disabled', secret = null, disabled_at = $2 where user_uuid = $1",
    [leaving.caller.userUuid, new Date(identity.clock.now())],
  );
  const factors = () =>
    identity.sql("select user_uuid from mfa_factors where user_uuid = any($1)", [
      [leaving.caller.userUuid, staying.caller.userUuid],
    ]);
  identity.clock.advance(90 * 24 * hour);
  await tidy();
  expect(await factors()).toHaveLength(2);
  identity.clock.advance(1);
  await tidy();
  expect(await factors()).toEqual([{ user_uuid: staying.caller.userUuid }]);
});
