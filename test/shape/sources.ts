import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's folder. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** Endings of files that run in Node, a browser, a shell or the database. */
export const SOURCES: readonly string[] = [".ts", ".tsx", ".mjs", ".js", ".sh", ".lua"];

/** Hand-written files below a folder of the repository, as `src/…`; what is generated is left out. */
export function filesBelow(folder: string, endings: readonly string[] = SOURCES): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .map((file) => path.posix.join(folder, file.split(path.sep).join("/")))
    .filter(
      (file) =>
        endings.some((ending) => file.endsWith(ending)) && !file.includes("/gen/") && !file.includes("/node_modules/"),
    )
    .sort();
}

/** Text of a file of the repository. */
export function textOf(file: string): string {
  return readFileSync(path.join(root, file), "utf8");
}

/** Text of a file without whole-line comments. */
export function codeOf(file: string): string {
  return textOf(file).replaceAll(/^\s*(?:\/\/|\/?\*).*$/gmu, "");
}

/** One import of a file. */
export interface Import {
  /** A path of the repository, or a package. */
  to: string;
  typeOnly: boolean;
}

const declaration = String.raw`^\s*(?:import|export)\s+(type\s+)?(?:[\w*\s{},$]*?\s+from\s+)?["']([^"']+)["']`;
const dynamic = String.raw`\bimport\(\s*["']([^"']+)["']\s*\)`;
const statement = new RegExp(`${declaration}|${dynamic}`, "gmu");

/** What the source of an import of a file is: a path of the repository, or a package. */
const targetOf = (file: string, from: string): string =>
  from.startsWith(".") ? path.posix.join(path.posix.dirname(file), from) : from;

/** Everything a file imports or exports again. */
export function importsOf(file: string): Import[] {
  return [...textOf(file).matchAll(statement)].map(([, type, from, dynamic]) => ({
    to: targetOf(file, from ?? dynamic ?? ""),
    typeOnly: type !== undefined,
  }));
}

const named = /^\s*(import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+["']([^"']+)["']/gmu;

/** The names that a file imports, or only those that it exports again. */
export function namesOf(file: string, keyword: "import" | "export"): { name: string; from: string }[] {
  return [...textOf(file).matchAll(named)]
    .filter(([, word]) => word === keyword)
    .flatMap(([, , names = "", from = ""]) =>
      names
        .split(",")
        .map((name) =>
          name
            .trim()
            .replace(/^type\s+/u, "")
            .replace(/\s+as\s.*$/u, ""),
        )
        .filter((name) => name !== "")
        .map((name) => ({ name, from: targetOf(file, from) })),
    );
}
