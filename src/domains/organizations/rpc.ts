import type { ServiceImpl } from "@connectrpc/connect";
import type { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import type { Organizations } from "./index.ts";

/** What of the login area is about organizations. */
export function organizationsLoginRpc(organizations: Organizations): Partial<ServiceImpl<typeof LoginService>> {
  return {
    checkOrganizationName: async ({ name }) => ({
      data: { name, available: await organizations.isNameAvailable(name) },
    }),
  };
}
