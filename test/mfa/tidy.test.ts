import { afterAll, beforeAll, expect, it } from "vitest";
import { info, openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import { enrolled } from "./support.ts";

const hour = 3_600_000;

let identity: Identity;
beforeAll(async () => {
  identity = await openIdentity();
});
afterAll(() => identity.close());

const left = async (): Promise<number[]> => {
  const [row] = await identity.sql<{ tokens: number; challenges: number }>("select (select count(*)::int from mfa_tokens) as tokens, (select count(*)::int from step_up_challenges) as challenges");
  return [row?.tokens ?? -1, row?.challenges ?? -1];
};

it("forgets tokens and challenges of whomever, once they are over, and nothing that still counts", async () => {
  const [early, late] = [await enrolled(identity), await enrolled(identity)];
  const begin = async (who: typeof early): Promise<void> => {
    await who.pass();
    await identity.mfa.stepUp.challenge(who.caller, "password", info);
  };
  await begin(early);
  identity.clock.advance(299_000);
  await begin(late);
  expect(await identity.mfa.tidy()).toBe(0);
  expect(await left()).toEqual([2, 2]);
  identity.clock.advance(2_000);
  expect(await identity.mfa.tidy()).toBe(1);
  expect(await left()).toEqual([1, 2]);
  // A challenge is told from one that never was for a day after its end.
  identity.clock.advance(24 * hour);
  expect(await identity.mfa.tidy()).toBe(2);
  expect(await left()).toEqual([0, 1]);
  identity.clock.advance(hour);
  expect(await identity.mfa.tidy()).toBe(1);
  expect(await identity.mfa.tidy()).toBe(0);
});
