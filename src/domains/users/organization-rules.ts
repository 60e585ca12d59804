import type { Caller } from "../../platform/caller.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { userErrors } from "./errors.ts";

const MOST_DOMAINS = 100;

/** A requested change of an organization; absent members stay. */
export interface OrganizationWish {
  name?: string | undefined;
  plan?: string | undefined;
  /** Mail domains whose people may join by magic link, as they were sent. */
  jitDomains?: readonly unknown[] | undefined;
  /** Members other than owners enter by single sign-on alone. */
  ssoRequired?: boolean | undefined;
}

/**
 * Checks who may change what: administrators their own organization but for the plan, platform admins the plan of any.
 * @throws {forbidden} for anything else
 * @throws {step_up_required} when an owner without an elevated token changes whether single sign-on is required
 */
export function demandMayChange(caller: Caller, uuid: string, wish: OrganizationWish): void {
  const own = caller.orgUuid === uuid;
  if (
    !own &&
    (wish.plan === undefined ||
      wish.name !== undefined ||
      wish.jitDomains !== undefined ||
      wish.ssoRequired !== undefined)
  )
    throw userErrors.foreignPlanOnly();
  if (wish.ssoRequired !== undefined && (!caller.isOwner || caller.userUuid === null)) throw userErrors.ownersOnly();
  if (wish.plan !== undefined && !caller.isPlatformAdmin) throw userErrors.planForPlatform();
  if (wish.ssoRequired !== undefined && !caller.elevated) throw errors.stepUpRequired();
}

/**
 * Mail domains as they are stored: lower case, IDNA encoded, each once.
 * @throws {validation_error} for each that is not a mail domain
 */
export function readDomains(given: readonly unknown[]): string[] {
  if (given.length > MOST_DOMAINS)
    throw errors.validation({
      fields: [{ field: "jit_domains", code: "too_many", message: `must have at most ${MOST_DOMAINS} items` }],
    });
  const domains = given.map((text) => (typeof text === "string" ? parseEmail(`x@${text.trim()}`)?.domain : undefined));
  const fields = domains.flatMap((domain, at) =>
    domain?.includes(".") === true
      ? []
      : [{ field: `jit_domains[${at}]`, code: "format", message: "must be a mail domain" }],
  );
  if (fields.length > 0) throw errors.validation({ fields });
  return [...new Set(domains.filter((domain) => domain !== undefined))];
}
