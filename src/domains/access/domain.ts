import { AccessService } from "../../../gen/atrium/access/v1/access_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import type { Organizations } from "../organizations/index.ts";
import { createAccess } from "./access.ts";
import { accessRpc } from "./rpc.ts";

/** What callers may do: the claims of tokens, `/me`, entitlements. */
export const accessDomain = defineDomain(
  "access",
  ({ database, clock, organizations, contexts }: Ground & { organizations: Organizations }) => {
    const access = createAccess({ database, clock, organizations });
    return { ...access, services: [registration(AccessService, accessRpc(access, contexts))] };
  },
);
