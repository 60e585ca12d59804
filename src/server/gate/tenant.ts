import { Power } from "../../../gen/atrium/options/v1/options_pb.ts";
import { ServiceError } from "../../platform/errors.ts";
import { isUuid } from "../../platform/value-rules.ts";
import { inEveryPath } from "../policy.ts";
import type { Policy } from "../policy.ts";
import { QueryParams } from "./params.ts";
import { holdsPower } from "./powers.ts";
import type { Step } from "./step.ts";

/** Powers that reach across organizations: an rpc that needs one is not limited to the caller's own. */
const crossTenant: ReadonlySet<Power> = new Set([Power.PLATFORM_ADMIN, Power.SUPERUSER, Power.OPERATOR]);

const limitsTenant = (policy: Policy): boolean =>
  policy.tenant !== undefined && !policy.powers.some((power) => crossTenant.has(power));

/** Refuses the id of another organization exactly as an unknown id (decisions 1.7). */
export const tenant: Step = {
  name: "tenant",
  applies: limitsTenant,
  run(policy, { caller }, params) {
    if (caller === undefined || policy.tenant === undefined) return;
    const orgUuid = params.text(policy.tenant);
    if (orgUuid === undefined || orgUuid === "") return;
    if (policy.foreignTenant !== undefined && holdsPower(caller, policy.foreignTenant)) return;
    if (caller.orgUuid !== null && orgUuid.toLowerCase() === caller.orgUuid.toLowerCase()) return;
    // Outside the path, a value that is not a UUID names no organization; field validation refuses it.
    if (!isUuid(orgUuid) && !policy.pathFields.some(({ name }) => name === policy.tenant?.name)) return;
    throw new ServiceError(policy.tenantRow);
  },
};

/** The same check before the body, where the query of a GET names the organization. */
export const queryTenant: Step = {
  name: "query-tenant",
  applies: (policy) => policy.safe && bodyTenant.applies(policy),
  run(policy, call) {
    const url = call.request.url ?? "";
    const mark = url.indexOf("?");
    if (mark >= 0) void tenant.run(policy, call, new QueryParams(url.slice(mark + 1)));
  },
};

/** The same check after the body, where only the body or the query names the organization. */
export const bodyTenant: Step = {
  name: "body-tenant",
  applies: (policy) => limitsTenant(policy) && !inEveryPath(policy, policy.tenant),
  run: tenant.run,
};
