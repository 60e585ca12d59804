import { expect, it } from "vitest";
import { createLivenessCache } from "../../src/domains/liveness/cache.ts";
import type { Known } from "../../src/domains/liveness/cache.ts";
import { randomOf } from "../support/random-of.ts";

const SIZE = 16;
const names = Array.from({ length: 40 }, (_, i) => `name ${i}`);
const subjects = Array.from({ length: 6 }, (_, i) => `subject ${i}`);

it("the cache keeps the latest rows and drops those of a subject, over 100,000 random operations", () => {
  const random = randomOf(7);
  const cache = createLivenessCache(SIZE);
  /** The rows that the cache should hold, oldest first. */
  let model: { name: string; known: Known; subjects: readonly string[] }[] = [];
  const given = new Set<Known>();
  for (let turn = 0; turn < 100_000; turn++) {
    const name = random.pick(names);
    if (random.chance(0.75)) {
      const of = [random.pick(subjects), random.pick(subjects)];
      cache.set(name, {} as never, of);
      const known = cache.get(name);
      if (known === undefined) throw new Error(`turn ${turn}: ${name} is not held`);
      given.add(known);
      model = [...model.filter((entry) => entry.name !== name), { name, known, subjects: of }].slice(-SIZE);
    } else if (random.chance(0.99)) {
      const subject = random.pick(subjects);
      if (!random.chance(0.2)) continue;
      cache.drop(subject);
      model = model.filter((entry) => !entry.subjects.includes(subject));
    } else {
      cache.clear();
      model = [];
    }
    if (turn % 50 > 0) continue;
    const held = names.filter((each) => cache.get(each) !== undefined);
    expect(held.toSorted(), `turn ${turn}`).toEqual(model.map((entry) => entry.name).toSorted());
    const holding = [...given].filter(({ holds }) => holds);
    expect(new Set(holding), `turn ${turn}`).toEqual(new Set(model.map(({ known }) => known)));
    given.clear();
    for (const { known } of model) given.add(known);
  }
});
