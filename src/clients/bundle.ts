import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

/** A library whose code is in the package. */
interface Library {
  name: string;
  version: string;
  license: string;
  folder: string;
}

/** Copyright of libraries that are published without the text of their licence. */
const COPYRIGHTS: Readonly<Record<string, string>> = {
  "@connectrpc/connect": "Copyright 2021-2026 The Connect Authors",
  "@connectrpc/connect-web": "Copyright 2021-2026 The Connect Authors",
  standardwebhooks: "Copyright (c) Standard Webhooks",
};

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Texts for these, by the identifier of SPDX. */
const LICENSES = path.join(import.meta.dirname, "licenses");

const BANNER = `// Code of other packages, which THIRD-PARTY-NOTICES.txt names with their licences.
// It was changed: the modules are joined, without what the client does not use.`;

/**
 * Puts the used code of libraries in place of the modules that only export it again, and what their licences demand
 * beside it. `@bufbuild/protobuf` stays a dependency: an application shares it with its messages and their types.
 * @param source folder of the client, of which `bundled` has the modules
 * @param target where the built modules of that folder are
 * @param built the package
 */
export function bundleLibraries(source: string, target: string, built: string): void {
  const { metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: readdirSync(source).map((name) => path.join(source, name)),
    outdir: target,
    allowOverwrite: true,
    bundle: true,
    splitting: true,
    chunkNames: "shared-[hash]",
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    target: "es2022",
    external: ["@bufbuild/protobuf"],
    legalComments: "none",
    banner: { js: BANNER },
    metafile: true,
  });
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
  const names = new Set(used.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//u.exec(file)?.[1] ?? []));
  const libraries = [...names].sort().map((name): Library => {
    const folder = path.join(root, "node_modules", name);
    const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as Omit<Library, "folder">;
    return { name, version: manifest.version, license: manifest.license, folder };
  });
  writeFileSync(path.join(built, "THIRD-PARTY-NOTICES.txt"), noticesOf(libraries));
}

/** Libraries with the same text are named together above it. */
function noticesOf(libraries: readonly Library[]): string {
  const headings = new Map<string, string[]>();
  for (const { name, version, license, folder } of libraries) {
    const own = ["LICENSE", "LICENSE.md"].map((file) => path.join(folder, file)).find(existsSync);
    const copyright = COPYRIGHTS[name];
    if (own === undefined && copyright === undefined) throw new Error(`${name} has no text of its licence`);
    const text = readFileSync(own ?? path.join(LICENSES, `${license}.txt`), "utf8").trim();
    const heading = `${name} ${version} (${license})${own === undefined ? `, ${copyright ?? ""}` : ""}`;
    headings.set(text, [...(headings.get(text) ?? []), heading]);
  }
  const parts = [...headings].map(([text, names]) => `${names.join("\n")}\n\n${text}\n`);
  return ["This package has code of the packages below.\n", ...parts].join(`\n${"-".repeat(80)}\n\n`);
}
