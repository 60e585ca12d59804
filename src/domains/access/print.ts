import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { OrganizationRow } from "../organizations/index.ts";

/** An organization as the contract shows it. */
export function printOrganization({
  uuid,
  name,
  plan,
  entitlements,
  jit_domains,
  sandbox,
  created_at,
}: OrganizationRow & { entitlements: string[] }) {
  return {
    orgUuid: uuid,
    name,
    plan,
    entitlements,
    jitDomains: jit_domains,
    sandbox,
    createdAt: timestampFromDate(created_at),
  };
}
