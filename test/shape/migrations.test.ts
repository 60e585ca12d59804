import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const folder = join(import.meta.dirname, "../../src/migrations");
const files = readdirSync(folder).filter((name) => /^\d{4}-.*\.ts$/u.test(name));

/** Tables with a row for each organization at most, or fewer; an index on them is built in no time. */
const small: ReadonlySet<string> = new Set(["plans", "permissions", "organization_settings", "catalogue_size"]);

/** Indexes built at once, which nobody can write beside, on tables that are older than the migration. */
function blocking(name: string): string[] {
  const source = readFileSync(join(folder, name), "utf8");
  const own = new Set(
    [...source.matchAll(/create (?:unlogged )?table (?:if not exists )?(\w+)/gu)].map(([, table]) => table),
  );
  return [...source.matchAll(/create (?:unique )?index (?:if not exists )?(\w+)\s+on\s+(\w+)/gu)]
    .filter(([, , table]) => !own.has(table) && !small.has(table ?? ""))
    .map(([, index, table]) => `${name}: ${index} on ${table}`);
}

it("an index on a table that grows is built concurrently, since writers would wait for it", () => {
  const recent = files.filter((name) => name >= "0021");
  expect(recent.length).toBeGreaterThan(1);
  expect(recent.flatMap(blocking)).toEqual([]);
});

it("every migration is listed, and numbered as its file is", () => {
  const index = readFileSync(join(folder, "index.ts"), "utf8");
  for (const name of files) {
    expect(index).toContain(`from "./${name}"`);
    const source = readFileSync(join(folder, name), "utf8");
    expect(source).toMatch(new RegExp(`define(?:Concurrent)?Migration\\("${name.slice(0, 5)}`, "u"));
  }
});
