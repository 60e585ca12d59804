import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { consoleFolder } from "../../src/launch/console.ts";
import { root, textOf } from "../shape/sources.ts";

const PAGE_BYTES = 60_000;

/** Files of the pages, as the rows of `pages.ts` import them. */
const ROWS = ["src/console/pages.ts", "src/console/platform-pages.ts"].map(textOf).join("\n");
const FILES = [...ROWS.matchAll(/import\("\.\/(pages\/[^"]+)\.tsx"\)/gu)].map(([, path = ""]) => path);

describe("the scripts of a page", () => {
  let names: string[];
  const folder = (): string => join(consoleFolder(), "console/assets");
  const scriptOf = (name: string): string[] =>
    names.filter((file) => new RegExp(`^${name}-[\\w-]{8}\\.js$`, "u").test(file));

  beforeAll(() => {
    execFileSync(process.execPath, ["src/launch/build-console.ts"], {
      cwd: root,
      stdio: ["ignore", "ignore", "inherit"],
    });
    names = readdirSync(folder());
  });

  const imports = new Map<string, string[]>();
  /** Scripts that a script imports; each is read once. */
  function importsOf(name: string): string[] {
    const known = imports.get(name);
    if (known !== undefined) return known;
    const found = readFileSync(join(folder(), name), "utf8").matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/gu);
    const imported = [...found].map(([, script = ""]) => script);
    imports.set(name, imported);
    return imported;
  }

  /** A script with those that it imports. */
  function withImports(name: string, found = new Set<string>()): Set<string> {
    if (found.has(name)) return found;
    found.add(name);
    for (const imported of importsOf(name)) withImports(imported, found);
    return found;
  }

  it(`beyond those of every page have at most ${PAGE_BYTES} bytes`, () => {
    const common = new Set(["index", "ConsoleFrame"].flatMap(scriptOf).flatMap((name) => [...withImports(name)]));
    expect(common.size).toBeGreaterThan(5);
    expect(FILES.length).toBeGreaterThan(40);
    const over = FILES.flatMap((file) => {
      // Pages of the same name are told apart by nothing: all of them are judged.
      const scripts = scriptOf(basename(file));
      if (scripts.length === 0) return [`${file}: no script`];
      return scripts.flatMap((script) => {
        const own = [...withImports(script)].filter((name) => !common.has(name));
        const bytes = own.reduce((sum, name) => sum + statSync(join(folder(), `${name}.gz`)).size, 0);
        return bytes > PAGE_BYTES ? [`${file}: ${bytes}`] : [];
      });
    });
    expect(over).toEqual([]);
  });
});
