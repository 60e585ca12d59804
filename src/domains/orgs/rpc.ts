import type { ServiceImpl } from "@connectrpc/connect";
import type { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import type { Orgs } from "./index.ts";

/** What of the login area is about organizations. */
export function orgsLoginRpc(orgs: Orgs): Partial<ServiceImpl<typeof LoginService>> {
  return {
    checkOrganizationName: async ({ name }) => ({ data: { name, available: await orgs.isNameAvailable(name) } }),
  };
}
