import { afterAll, beforeAll, it } from "vitest";
import { randomOf } from "../support/random-of.ts";
import type { Random } from "../support/random-of.ts";
import { homeSteps, timeSteps } from "./takeover/home.ts";
import { hostileSteps } from "./takeover/hostile.ts";
import { insiderSteps } from "./takeover/insider.ts";
import { accountOf, faultAfter, leakTo } from "./takeover/rules.ts";
import { tenantSteps } from "./takeover/tenant.ts";
import { recoveryFault, victimSteps } from "./takeover/victim.ts";
import { openGround, openWorld } from "./takeover/world.ts";
import type { Ground, Step, World } from "./takeover/world.ts";

// A random walk through every door of sign-in, invitation, directory and provider, against one victim.
const SEED = Number(process.env["TEST_SEED"] ?? 20_261_127);
const WALKS = Number(process.env["TAKEOVER_WALKS"] ?? 3);
const STEPS = 60;
const LAST_STEPS = 12;

let ground: Ground;
beforeAll(async () => {
  ground = await openGround();
});
afterAll(() => ground.close());

const everybody: readonly Step[] = [
  ...hostileSteps,
  ...tenantSteps,
  ...insiderSteps,
  ...victimSteps,
  ...homeSteps,
  ...timeSteps,
];
const thieves: readonly Step[] = [...hostileSteps, ...tenantSteps, ...insiderSteps, ...timeSteps];

function chosen({ next }: Random, steps: readonly Step[]): Step {
  let left = next() * steps.reduce((sum, [, weight]) => sum + weight, 0);
  return steps.find(([, weight]) => (left -= weight) < 0) ?? (steps[0] as Step);
}

let walks = 0;

/** Takes steps; throws with the story of the walk when one breaks a rule. */
async function walk(world: World, steps: readonly Step[], count: number, story: string[]): Promise<void> {
  for (let at = 0; at < count; at++) {
    const [name, , act] = chosen(world.random, steps);
    const before = await accountOf(world);
    story.push(`${name}: ${await act(world)}`);
    const fault = await faultAfter(world, before, await accountOf(world));
    if (fault !== undefined) throw new Error(fault);
  }
}

it(`in ${WALKS} random walks nobody takes the victim's account, or anything of their organization`, async () => {
  for (let nth = 0; nth < WALKS; nth++) {
    const seed = SEED + nth;
    const world = await openWorld(ground, randomOf(seed), `w${seed}-${++walks}`);
    const story: string[] = [];
    try {
      await walk(world, everybody, STEPS, story);
      const fault = (await leakTo(world)) ?? (await recoveryFault(world, story));
      if (fault !== undefined) throw new Error(fault);
      await walk(world, thieves, LAST_STEPS, story);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}\n${story.join("\n")}`, { cause: error });
    }
  }
});
