import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

/** `export { A } from "x"` and `export type { A } from "x"`. */
const NAMED_EXPORTS = /export (type )?\{([^}]*)\} from "([^"]+)";/gu;
/** The module of an import, an export, or a type that is imported where it stands. */
const SPECIFIERS = /(?<=\bfrom |\bimport |\bimport\()"([^"]+)"/gu;

const modulesOf = (text: string): string[] => [...text.matchAll(SPECIFIERS)].map(([, module = ""]) => module);

/**
 * Leaves out of the declarations of a generated module what says nothing of the contract: from which element of the
 * proto a member comes, and that a descriptor describes what it is named after.
 */
export function slimDeclarations(text: string): string {
  return text
    .replaceAll(/(?:^ *\*\n)?^ *\* @generated from .*\n/gmu, "")
    .replaceAll(/^\/\*\*\n \* Describes the (?:file|message|enum|service) .*\n(?: \* Use `create.*\n)? \*\/\n/gmu, "")
    .replaceAll(/^ *\/\*\*\n *\*\/\n/gmu, "")
    .replaceAll(/^( *)\/\*\*\n *\* (.*)\n *\*\/$/gmu, "$1/** $2 */");
}

/** Declarations name modules as the JavaScript does: older versions of TypeScript know no other way. */
export const withJsExtensions = (text: string): string =>
  text.replaceAll(SPECIFIERS, (_, module: string) => `"${module.replace(/^(\..*)\.ts$/u, "$1.js")}"`);

/**
 * Copies the types that a module exports from a library, with those that they need, into a folder beside it.
 * @param library folder of the library's declarations, of which `index.d.ts` exports each name from its own module
 */
export function copyTypes(module: string, library: string): void {
  const home = new Map<string, string>();
  for (const [, , names = "", from = ""] of read(path.join(library, "index.d.ts")).matchAll(NAMED_EXPORTS))
    for (const each of namesOf(names)) home.set(each, from);
  const folder = path.basename(module, ".d.ts");
  const wanted = new Set<string>();
  const text = read(module).replaceAll(NAMED_EXPORTS, (_, type: string | undefined, names: string) =>
    namesOf(names)
      .map((name) => {
        const file = home.get(name);
        if (file === undefined) throw new Error(`${library} does not export ${name}`);
        wanted.add(path.join(library, file.replace(/\.js$/u, ".d.ts")));
        return `export ${type ?? ""}{ ${name} } from "./${folder}/${file.slice(2)}";`;
      })
      .join("\n"),
  );
  writeFileSync(module, text);
  for (const file of wanted) {
    const source = read(file);
    const target = path.join(path.dirname(module), folder, path.relative(library, file));
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, source);
    for (const needed of modulesOf(source)) if (needed.startsWith(".")) wanted.add(fileOf(file, needed, ".d.ts"));
  }
}

/**
 * Removes the modules and declarations that none of the entries reaches.
 * @returns the names of the packages that the others import
 */
export function removeUnreached(built: string, entries: readonly string[]): Set<string> {
  const packages = new Set<string>();
  for (const extension of [".js", ".d.ts"]) {
    const reached = new Set(entries.map((entry) => path.join(built, entry.replace(/\.js$/u, extension))));
    for (const file of reached)
      for (const module of modulesOf(read(file)))
        if (module.startsWith(".")) reached.add(fileOf(file, module, extension));
        else packages.add(/^(?:@[^/]+\/)?[^/]+/u.exec(module)?.[0] ?? module);
    for (const name of readdirSync(built, { recursive: true, encoding: "utf8" })) {
      const file = path.join(built, name);
      if (file.endsWith(extension) && !reached.has(file)) rmSync(file);
    }
  }
  return packages;
}

const namesOf = (list: string): string[] =>
  list
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

const fileOf = (importer: string, module: string, extension: string): string =>
  path.join(path.dirname(importer), module.replace(/\.[jt]s$/u, extension));

const read = (file: string): string => readFileSync(file, "utf8");
