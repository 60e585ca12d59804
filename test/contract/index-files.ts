import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const notice = "// Generated from the contract by `npm run generate`; do not edit.\n/* eslint-disable */\n\n";

/**
 * The files that gather what protoc-gen-es generated in `gen`: an entry per package, one for all, and the list of
 * services.
 */
export function indexFiles(gen: string): Map<string, string> {
  const modules = readdirSync(join(gen, "atrium"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("_pb.ts"))
    .map((path) => join("atrium", path))
    .sort();
  const folders = [...new Set(modules.map((path) => dirname(path)))];
  const files = new Map<string, string>();
  for (const folder of folders) {
    const inside = modules.filter((path) => dirname(path) === folder);
    files.set(
      join(folder, "index.ts"),
      notice + inside.map((path) => `export * from "./${relative(folder, path)}";\n`).join(""),
    );
  }
  files.set(
    "index.ts",
    notice +
      folders.map((folder) => `export * as ${packageName(folder)} from "./${folder}/index.ts";\n`).join("") +
      `export { services } from "./services.ts";\n`,
  );
  files.set("services.ts", servicesFile(gen, modules));
  return files;
}

/** `atrium/mtls_ca/v1` is `mtlsCa`; later versions keep their number. */
function packageName(folder: string): string {
  const [, area = "", version = ""] = folder.split("/");
  const name = area.replace(/_(.)/g, (_, next: string) => next.toUpperCase());
  return version === "v1" ? name : name + version.toUpperCase();
}

function servicesFile(gen: string, modules: readonly string[]): string {
  const found = modules.flatMap((path) => {
    const names = [...readFileSync(join(gen, path), "utf8").matchAll(/^export const (\w+): GenService</gm)];
    return names.map(([, name = ""]) => ({ path, name }));
  });
  const imports = found.map(({ path, name }) => `import { ${name} } from "./${path}";\n`).join("");
  const list = found.map(({ name }) => `  ${name},\n`).join("");
  const declaration = "/** Every service of the contract. */\nexport const services: readonly DescService[] = ";
  return `${notice}import type { DescService } from "@bufbuild/protobuf";\n${imports}\n${declaration}[\n${list}];\n`;
}
