import { expect, it } from "vitest";
import { Lru } from "../../src/clients/typescript/lru.ts";
import { randomOf } from "../support/random-of.ts";

/** What `Lru` promises, as simply as it can be said: the entry used last is the last of a list. */
class List {
  #entries: [number, number][] = [];
  get(key: number): number | undefined {
    const value = this.#entries.find(([known]) => known === key)?.[1];
    if (value !== undefined) this.set(key, value);
    return value;
  }
  set(key: number, value: number): void {
    this.delete(key);
    this.#entries = [...this.#entries, [key, value] as [number, number]].slice(-8);
  }
  delete(key: number): void {
    this.#entries = this.#entries.filter(([known]) => known !== key);
  }
}

it("an Lru keeps the entries used last, over 100,000 random operations", () => {
  const lru = new Lru<number, number>(8);
  const list = new List();
  const { below: random } = randomOf(42);
  for (let turn = 0; turn < 100_000; turn++) {
    const key = random(20);
    const kind = random(10);
    if (kind < 5) expect(lru.get(key), `turn ${turn}`).toBe(list.get(key));
    else if (kind < 9) for (const map of [lru, list]) map.set(key, turn);
    else for (const map of [lru, list]) map.delete(key);
  }
});
