import { join } from "node:path";
import { must, root, run } from "./run.ts";

/** The contract that changes are compared with. */
const baseline = "test/shape/contract.binpb";

/** Changes of the contract that break clients of the baseline; empty when there are none. */
export function breaches(): string {
  const { ok, output } = run("buf", "breaking", "proto", "--against", baseline);
  return ok ? "" : output;
}

/**
 * Makes the present contract the baseline. Until the first release (a tag `v1…`) any
 * contract will do; from then on only one that breaks nobody.
 */
function main(): void {
  const released = run("git", "tag", "--list", "v[1-9]*").output.trim() !== "";
  const broken = released ? breaches() : "";
  if (broken !== "") {
    console.error(`The contract is released; these changes break its clients:\n${broken}`);
    process.exitCode = 1;
    return;
  }
  must("buf", "build", "proto", "--exclude-source-info", "-o", join(root, baseline));
  console.log(`${baseline} is the contract as it is now.`);
}

if (import.meta.main) main();
