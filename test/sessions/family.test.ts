import { afterAll, beforeAll, expect, it } from "vitest";
import { ServiceError } from "../../src/platform/errors.ts";
import { openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import { randomOf } from "../support/random-of.ts";
import { explain, isLive, lifetimes, opened } from "./family-model.ts";
import type { Family, Outcome } from "./family-model.ts";

const families = Number(process.env["ATRIUM_FAMILIES"] ?? 25);
const steps = 30;
const waits = [0, 1, 5_000, 9_999, 10_000, 10_001, 60_000, 400_000, 3_600_000, lifetimes.idle - 1, lifetimes.idle];

let identity: Identity;
let instances: Pick<Identity, "sessions" | "me">[];
beforeAll(async () => {
  identity = await openIdentity();
  await identity.login.bootstrap(identity.owner);
  instances = [identity, identity.another()];
});
afterAll(() => identity.close());

/** A family under test: what the model says of it, and the tokens it was seen to give. */
interface Run {
  model: Family;
  names: string[];
  access: { token: string; expires: number };
  said: string[];
}

const pick = <T>(chance: (below: number) => number, items: readonly T[]): T => items[chance(items.length)] as T;

/** Concurrent refreshes over the instances; the results must be those of some order of them. */
async function burst(run: Run, tried: readonly number[], chance: (below: number) => number): Promise<void> {
  const now = identity.clock.now();
  const answers = await Promise.all(
    tried.map((n) =>
      pick(chance, instances)
        .sessions.refresh(identity.anonymous(), run.names[n] ?? "")
        .catch((error: unknown) => {
          if (error instanceof ServiceError && error.status === 401) return undefined;
          throw error;
        }),
    ),
  );
  const outcomes = answers.map((answer, at): Outcome => {
    if (answer === undefined) return "refused";
    const successor = (tried[at] ?? 0) + 1;
    run.names[successor] ??= answer.refreshToken;
    expect(answer.refreshToken, `another successor of ${tried[at]}; ${run.said.join(" ")}`).toBe(run.names[successor]);
    run.access = { token: answer.accessToken, expires: Math.floor(now / 1000) * 1000 + 420_000 };
    return successor;
  });
  run.said.push(`[${tried.join()}]→[${outcomes.join()}]`);
  const after = explain(run.model, tried, outcomes, now);
  expect(after, run.said.join(" ")).toBeDefined();
  run.model = after ?? run.model;
}

async function step(run: Run, chance: (below: number) => number): Promise<void> {
  const kind = chance(20);
  const newest = run.names.length - 1;
  if (kind < 7) {
    const wait = pick(chance, chance(4) === 0 ? waits : waits.slice(0, 8));
    identity.clock.advance(wait);
    run.said.push(`+${wait}`);
  } else if (kind < 13) await burst(run, [newest], chance);
  else if (kind < 15) await burst(run, [chance(newest + 1)], chance);
  else if (kind < 17) await burst(run, Array<number>(2 + chance(5)).fill(Math.max(0, newest - chance(2))), chance);
  else if (kind < 19 || chance(4) > 0)
    await burst(
      run,
      Array.from({ length: 2 + chance(3) }, () => Math.max(0, newest - chance(3))),
      chance,
    );
  else {
    run.said.push("logout");
    const caller = await pick(chance, instances)
      .me(run.access.token)
      .catch(() => undefined);
    if (caller !== undefined) await pick(chance, instances).sessions.own.logout(identity.context(caller));
    if (caller !== undefined) run.model = { ...run.model, revoked: true };
  }
}

it(`${families} refresh families under random interleavings on two instances behave as the model`, async () => {
  const first = Number(process.env["ATRIUM_SEED"] ?? 1);
  let [accepted, ended] = [0, 0];
  for (let seed = first; seed < first + families; seed++) {
    const { below: chance } = randomOf(seed);
    const now = identity.clock.now();
    const pair = await identity.loginOwner();
    const run: Run = {
      model: opened(now),
      names: [pair.refreshToken],
      access: { token: pair.accessToken, expires: Math.floor(now / 1000) * 1000 + 900_000 },
      said: [`seed ${seed}:`],
    };
    for (let at = 0; at < steps; at++) {
      await step(run, chance);
      const present = identity.clock.now();
      const taken = await pick(chance, instances)
        .me(run.access.token)
        .then(
          () => true,
          () => false,
        );
      expect(taken, run.said.join(" ")).toBe(isLive(run.model, present) && present < run.access.expires);
      if (!isLive(run.model, present) && chance(3) === 0) break;
    }
    accepted += run.model.tokens.length - 1;
    ended += run.model.revoked ? 1 : 0;
  }
  // The runs must have been interesting.
  expect(accepted).toBeGreaterThan(families);
  expect(ended).toBeGreaterThan(families / 10);
});
