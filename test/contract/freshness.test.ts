import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateGo } from "./clients/go.ts";
import { generatePython } from "./clients/python.ts";
import { clientsDemanded, goTools, pythonTools } from "./clients/tools.ts";
import { must, root } from "./run.ts";

const PROTO = "atrium/access/v1/access.proto";
const CHANGED = "A comment that the contract does not have.";
/** Path of the first message of a file in its source information. */
const FIRST_MESSAGE = "4,0";

let folder: string;
let input: string[];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "atrium-freshness-"));
  const image = join(folder, "contract.binpb");
  must("buf", "build", "proto", "-o", image);
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(image));
  const file = set.file.find(({ name }) => name === PROTO);
  const location = file?.sourceCodeInfo?.location.find(({ path }) => path.join() === FIRST_MESSAGE);
  if (location === undefined) throw new Error(`${PROTO} has no message`);
  location.leadingComments = ` ${CHANGED}\n`;
  writeFileSync(image, toBinary(FileDescriptorSetSchema, set));
  input = [image, "--path", PROTO];
});
afterAll(() => rmSync(folder, { recursive: true }));

const generated = {
  TypeScript() {
    const plugins = [{ local: "protoc-gen-es", out: ".", opt: ["target=ts", "import_extension=ts"] }];
    mkdirSync(join(folder, "typescript"));
    const template = join(folder, "typescript.gen.json");
    writeFileSync(template, JSON.stringify({ version: "v2", plugins }));
    must("buf", "generate", ...input, "--template", template, "-o", join(folder, "typescript"));
    return ["typescript", "", "atrium/access/v1/access_pb.ts"] as const;
  },
  Python() {
    generatePython(folder, input);
    return ["python", "python", "atrium/access/v1/access_pb2.pyi"] as const;
  },
  Go() {
    generateGo(folder, input);
    return ["go", "go", "atrium/access/v1/access.pb.go"] as const;
  },
};

const missing: Readonly<Record<string, string | undefined>> = {
  Python: pythonTools().missing,
  Go: goTools().missing,
};
for (const [language, why] of Object.entries(missing))
  if (why !== undefined) console.log(`The freshness of gen/ in ${language} is not tested: ${why}`);

for (const language of ["TypeScript", "Python", "Go"] as const) {
  const skipped = missing[language] !== undefined && !clientsDemanded;
  test.skipIf(skipped)(`a changed comment of the contract changes gen/ in ${language}`, () => {
    const [made, kept, file] = generated[language]();
    expect(readFileSync(join(folder, made, file), "utf8")).toContain(CHANGED);
    expect(readFileSync(join(root, "gen", kept, file), "utf8")).not.toContain(CHANGED);
  });
}
