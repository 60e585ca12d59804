import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

/** Files and folders with long tests, mostly waiting for processes; the longest first. */
const long = [
  "test/life/program",
  "test/faults/",
  "test/marketplace/model",
  "test/faults-foundation/",
  "test/sessions/revocation",
  "test/main-job/provisioning",
  "test/platform/outage",
  "test/matrix/matrix",
  "test/life/",
  "test/marketplace/permissions",
];

/** Starts the long test files first, so that none of them runs alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = long.findIndex((part) => moduleId.includes(part));
      return at === -1 ? long.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
