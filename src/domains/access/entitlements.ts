import type { Caller } from "../../platform/caller.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Database } from "../../platform/db/types.ts";
import { entitlementsOf, factsOf, slugsOf } from "./app-store.ts";
import { decide, explain, lacksEntitlements } from "./rules.ts";
import type { Decision, Explanation } from "./rules.ts";

/** A feature to check in an organization. */
export interface EntitlementCheck {
  feature: string;
  orgUuid: string;
}

/**
 * Entitlement checks (decisions 3.12): the verified token decides. Only the names of apps are looked up, and the
 * entitlements where the token does not contain all of them.
 */
export function createEntitlements(database: Pick<Database, "prepared">) {
  /** Slugs of the apps the caller administers, where that matters for any of these features. */
  async function administered({ appAdmin }: Caller, checks: readonly EntitlementCheck[]): Promise<readonly string[]> {
    const matters = appAdmin.length > 0 && checks.some(({ feature }) => feature.startsWith("app:"));
    return matters ? slugsOf(database, appAdmin) : [];
  }

  async function entitled(caller: Caller): Promise<Caller> {
    if (caller.orgUuid === null || !lacksEntitlements(caller)) return caller;
    return { ...caller, entitlements: await entitlementsOf(database, caller.orgUuid) };
  }

  return {
    /** The caller with all entitlements, also those that the token does not contain. */
    entitledCaller: entitled,

    /** Whether the caller has a feature in an organization. */
    async check({ caller }: CallerContext, feature: string, orgUuid: string): Promise<Decision> {
      return decide(await entitled(caller), feature, orgUuid, await administered(caller, [{ feature, orgUuid }]));
    },

    /** Makes many checks, in the order given, each with what decided it. */
    async explain(
      { caller }: CallerContext,
      checks: readonly EntitlementCheck[],
    ): Promise<(EntitlementCheck & Decision & { explain: Explanation })[]> {
      const [own, who] = [await administered(caller, checks), await entitled(caller)];
      const decided = checks.map((check) => ({
        ...check,
        ...decide(who, check.feature, check.orgUuid, own),
      }));
      const slugs = decided
        .filter(({ granted, feature }) => granted && feature.startsWith("app:"))
        .map(({ feature }) => feature.slice(4));
      const facts =
        slugs.length === 0 ? [] : await factsOf(database, [...new Set(slugs)], caller.userUuid, caller.orgUuid);
      const bySlug = new Map(facts.map((fact) => [fact.slug, fact]));
      return decided.map((one) => ({ ...one, explain: explain(one, bySlug.get(one.feature.slice(4))) }));
    },
  };
}
