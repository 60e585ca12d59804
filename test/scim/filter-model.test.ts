import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { randomOf } from "../support/random-of.ts";
import { ATTRIBUTES, randomFilter, TEXTS } from "./model.ts";
import { directoryOf, ENTERPRISE_URN } from "./support.ts";
import type { Directory } from "./support.ts";

/** `.ci/run` tries 10,000. */
const CASES = Number(process.env["SCIM_CASES"] ?? 1_000);
const SEED = Number(process.env["SCIM_SEED"] ?? 7_644);

let app: TestApp;
let directory: Directory;
let users: Record<string, unknown>[];
beforeAll(async () => {
  app = await startApp();
  directory = await directoryOf(app, await founder(app));
  const random = randomOf(SEED);
  const text = () => random.pick(TEXTS);
  const maybe = (name: string, value: () => unknown) => (random.chance(0.6) ? { [name]: value() } : {});
  const ids: string[] = [];
  for (let n = 0; n < 40; n++) {
    app.clock.advance(random.below(3) * 1_000);
    const user = await directory.user({
      userName: `${text()}${n}`,
      ...maybe("displayName", text),
      ...maybe("title", text),
      ...maybe("externalId", text),
      ...maybe("profileUrl", () => `https://${text()}.test/`),
      active: random.chance(0.7),
      name: { ...maybe("givenName", text), ...maybe("familyName", text) },
      emails: [
        { value: `User${n}@Model.test`, ...maybe("type", () => "work"), primary: true },
        ...(random.chance(0.4) ? [{ value: `${text()}`, type: random.pick(["home", "Work"]), primary: false }] : []),
      ],
      ...maybe("photos", () => [{ value: text(), type: "photo" }]),
      ...maybe("addresses", () => [{ country: text(), ...maybe("locality", text) }, { locality: text() }]),
      [ENTERPRISE_URN]: { ...maybe("department", text), ...maybe("manager", () => ({ value: text() })) },
    });
    ids.push(user.id);
  }
  for (const displayName of ["Red", "É team"]) {
    const members = ids.filter(() => random.chance(0.3)).map((value) => ({ value }));
    await directory.call("POST", "/Groups", { displayName, members });
  }
  users = (await directory.call("GET", "/Users?count=200")).body.Resources;
});
afterAll(() => app.close());

test(`${CASES} random filters select what a naive model selects`, { timeout: 1_200_000 }, async () => {
  const random = randomOf(SEED + 1);
  const held = new Map(
    ATTRIBUTES.map(({ path, of }) => [path, users.flatMap(of).filter((value) => typeof value === "string")]),
  );
  held.set("emails.value", held.get("emails") ?? []);
  const samples = (path: string): string[] =>
    random.chance(0.6) && !path.startsWith("meta") ? [...TEXTS] : (held.get(path) ?? []);
  const cases = Array.from({ length: CASES }, () => randomFilter(random, samples));
  const wrong: string[] = [];
  async function judge(): Promise<void> {
    for (let one = cases.pop(); one !== undefined && wrong.length < 5; one = cases.pop()) {
      const { text, holds } = one;
      const answer = await directory.call("POST", "/Users/.search", { filter: text, count: 200, attributes: ["id"] });
      const seen = ((answer.body.Resources ?? []) as { id: string }[]).map(({ id }) => id).sort();
      const wanted = users
        .filter(holds)
        .map(({ id }) => id as string)
        .sort();
      if (answer.status !== 200 || seen.join() !== wanted.join() || answer.body.totalResults !== wanted.length)
        wrong.push(`${text}: ${answer.status === 200 ? `${seen.length} instead of ${wanted.length}` : answer.text}`);
    }
  }
  await Promise.all(Array.from({ length: 8 }, judge));
  expect(wrong, `SCIM_SEED=${SEED}`).toEqual([]);
});
