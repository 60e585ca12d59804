import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market, Offer } from "../support/market.ts";
import { persistently } from "../support/persistently.ts";
import { randomOf } from "../support/random-of.ts";
import type { Random } from "../support/random-of.ts";
import { temporalServer } from "../support/temporal.ts";
import { NOTICE_ATTEMPTS, act, deeds, requested } from "./model.ts";
import type { Deed, Model, Plan } from "./model.ts";
import { appPath, must } from "./stage.ts";

const SEED = Number(process.env["TEST_SEED"] ?? 20_261_121);
const CASES = Number(process.env["INSTALL_CASES"] ?? 12);
const AT_ONCE = 6;

let app: TestApp;
let market: Market;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,20ms,20ms", SERVICE_WEBHOOK_TIMEOUT: "150s" },
  });
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
});

const settling = {
  provision: [200, 200, 201, 202, 202, 410, 422],
  deprovision: [200, 202, 202, 204, 404, 410],
  notice: [200, 202, 204],
} as const;
const passing = {
  provision: [204, 301, 400, 404, 429, 500, 503],
  deprovision: [301, 400, 422, 500, 503],
  notice: [301, 404, 410, 500],
} as const;

/** Some answers that settle nothing, then one that does; or, for a notice, none at all that does. */
function planFor(kind: keyof typeof settling, { below, pick }: Random): Plan {
  const failures = Array.from({ length: below(NOTICE_ATTEMPTS + 1) }, () => pick(passing[kind]));
  return kind === "notice" && failures.length === NOTICE_ATTEMPTS ? failures : [...failures, pick(settling[kind])];
}

function does(deed: Deed, offer: Offer, installId: string): Promise<Answer> {
  return persistently(() => {
    if (deed === "give back") return app.call("DELETE", `/api/installs/${installId}`, { token: market.buyer });
    if (deed === "suspend" || deed === "resume")
      return app.call("POST", appPath(offer.appId, `/installs/${installId}/${deed}`), {
        token: market.publisher,
        body: {},
      });
    return offer.report(installId, { status: deed.replace("report ", "") });
  });
}

/**
 * One life: an install, some deeds, each after everything before has settled; the service must be where the model is.
 */
async function live(nth: number): Promise<void> {
  const random = randomOf(SEED + nth);
  const story: string[] = [];
  let plan = planFor("provision", random);
  let left = [...plan];
  const offer = await market.offer(() => ({ status: left.shift() ?? 599 }));
  const installId = must(await persistently(offer.install)).install_id as string;
  const model = requested(plan);
  story.push(`install answered ${plan.join()}`);

  const agrees = async (): Promise<void> => {
    const what = `seed ${SEED}, life ${nth}: ${story.join("; ")}`;
    const present = async () => {
      const { status, timeline, failure_reason: reason } = await market.read(installId);
      return {
        status,
        failed: reason !== null,
        events: timeline.map(({ event }) => event),
        calls: offer.server.calls.map(({ type }) => type.replace("install.", "")),
      } satisfies Model;
    };
    await expect.poll(present, { message: what }).toEqual(model);
  };
  await agrees();
  for (let step = 0; step < 6; step++) {
    const deed = random.pick(deeds);
    plan = planFor(deed === "give back" ? "deprovision" : "notice", random);
    left = [...plan];
    story.push(`${deed} answered ${plan.join()}`);
    const expected = act(model, deed, plan);
    const { status } = await does(deed, offer, installId);
    expect(status, `seed ${SEED}, life ${nth}: ${story.join("; ")}`).toBe(expected);
    await agrees();
  }
  expect(new Set(offer.server.calls.map(({ id, type }) => `${id} ${type}`)).size, "one id for each thing asked").toBe(
    new Set(offer.server.calls.map(({ id }) => id)).size,
  );
}

it(`${CASES} random lives of installs go as the model says`, async () => {
  const lives = Array.from({ length: CASES }, (_, nth) => nth);
  const lane = async (): Promise<void> => {
    for (let nth = lives.shift(); nth !== undefined; nth = lives.shift()) await live(nth);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
});

const after: Readonly<Record<string, readonly string[]>> = {
  requested: ["active", "failed", "deprovisioning"],
  active: ["suspended", "deprovisioning"],
  suspended: ["resumed", "deprovisioning"],
  resumed: ["suspended", "deprovisioning"],
  deprovisioning: ["deprovisioned"],
  failed: [],
  deprovisioned: [],
};
/** Events that move nothing: they may stand anywhere before the end. */
const asides: ReadonlySet<string> = new Set(["attempt_failed", "accepted", "notice_failed"]);
const stateAfter: Readonly<Record<string, string>> = {
  requested: "provisioning",
  active: "active",
  resumed: "active",
  suspended: "suspended",
  deprovisioning: "deprovisioning",
  failed: "deprovisioned",
  deprovisioned: "deprovisioned",
};

it("under parallel changes the timeline is a valid path through the states, with one step for each successful response", async () => {
  const race = async (nth: number): Promise<void> => {
    const { next, pick } = randomOf(SEED * 31 + nth);
    const offer = await market.offer(({ type }) => ({
      status: type === "install.provisioning" ? pick([200, 202, 422, 500, 500]) : pick([200, 202, 500, 500]),
    }));
    const installId = must(await persistently(offer.install)).install_id as string;
    const done = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const deed = pick(deeds);
        await new Promise((resolve) => setTimeout(resolve, next() * 250));
        return { deed, status: (await does(deed, offer, installId)).status };
      }),
    );
    await does("give back", offer, installId);
    await expect.poll(async () => (await does("report deprovisioned", offer, installId)).status).toBe(200);
    const { status, timeline } = await market.read(installId);
    const moves = timeline.map(({ event }) => event).filter((event) => !asides.has(event));
    const what = `seed ${SEED}, race ${nth}: ${JSON.stringify({ done, timeline: timeline.map(({ event }) => event) })}`;
    for (const [at, event] of moves.slice(1).entries()) expect(after[moves[at] ?? ""], what).toContain(event);
    expect(stateAfter[moves.at(-1) ?? ""], what).toBe(status);
    expect(status, what).toBe("deprovisioned");
    for (const [deed, event] of [
      ["suspend", "suspended"],
      ["resume", "resumed"],
    ]) {
      expect(moves.filter((one) => one === event).length, what).toBe(
        done.filter((one) => one.deed === deed && one.status === 200).length,
      );
    }
    expect(
      done.every((one) => [200, 202, 409].includes(one.status)),
      what,
    ).toBe(true);
  };
  for (let round = 0; round < 4; round++) await Promise.all([0, 1, 2].map((nth) => race(round * 3 + nth)));
});
