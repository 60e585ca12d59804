import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

/** Files and folders with long tests, many of which wait for processes; the longest first. */
const long = [
  "test/matrix/late-writes",
  "test/billing/lives",
  "test/life/program",
  "test/console/quality",
  "test/faults/",
  "test/console/",
  "test/clients/",
  "test/scim/filter-model",
  "test/scim/tenants-model",
  "test/login/takeover",
  "test/openapi/",
  "test/sessions/revocation",
  "test/faults-foundation/",
  "test/marketplace/model",
  "test/mtls-ca/judges",
  "test/webhooks/shares",
  "test/auth-events/large",
  "test/server/readers",
  "test/life/",
  "test/main-job/provisioning",
  "test/platform/outage",
  "test/matrix/",
  "test/marketplace/permissions",
];

/** Counts what a process does from its start on, and files share their worker's modules. */
const first = "test/platform/statement-names";

/** Starts the long test files first, so that none of them runs alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      if (moduleId.includes(first)) return -1;
      const at = long.findIndex((part) => moduleId.includes(part));
      return at === -1 ? long.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
