import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { must, root, run } from "./run.ts";

const FILE = "spiffe/workload/workload_pb.ts";
/** The module's version, with its checksum, is the one that this example uses. */
const EXAMPLE = join(root, "examples/workload-go");

/**
 * Generates the SPIFFE Workload API from the proto of the Go module go-spiffe: no package of npm has it. Where Go or
 * the module cannot be had, the generated file stays as it is, so that nobody needs Go for the rest of the contract.
 */
export function generateWorkloadApi(folder: string): Map<string, string> {
  const module = run("go", "-C", EXAMPLE, "list", "-m", "-f", "{{.Dir}}", "github.com/spiffe/go-spiffe/v2");
  const protos = module.output.trim();
  if (!module.ok || protos === "") return new Map([[FILE, readFileSync(join(root, "gen", FILE), "utf8")]]);
  const template = join(folder, "workload-api.gen.yaml");
  const opt = ["target=ts", "import_extension=ts", "erasable_syntax=true"];
  const plugins = [{ local: "protoc-gen-es", out: "workload-api", strategy: "all", opt }];
  writeFileSync(template, JSON.stringify({ version: "v2", plugins }));
  must("buf", "generate", join(protos, "proto"), "--template", template, "--path", workloadIn(protos), "-o", folder);
  return new Map([[FILE, readFileSync(join(folder, "workload-api", FILE), "utf8")]]);
}

const workloadIn = (protos: string): string => join(protos, "proto/spiffe/workload");
