import type { Caller } from "../../platform/caller.ts";
import { decide, explain } from "./rules.ts";
import type { AppFacts, Decision, Explanation } from "./rules.ts";

/** What entitlement checks need of the marketplace. */
export interface EntitlementLookups {
  /** Slugs of apps, in any order. */
  slugsOf(appIds: readonly string[]): Promise<string[]>;
  /** The apps of these slugs, with the grant a person has of each and the active install of an organization. */
  factsOf(slugs: readonly string[], userUuid: string | null, orgUuid: string | null): Promise<AppFacts[]>;
}

/** A feature that is asked for in an organization. */
export interface EntitlementQuestion {
  feature: string;
  orgUuid: string;
}

/** Entitlement checks (decisions 3.12): the verified token decides; only the names of apps are looked up. */
export function createEntitlements(apps: EntitlementLookups) {
  /** Slugs of the apps the caller administers, where that matters for any of these features. */
  async function administered(
    { appAdmin }: Caller,
    questions: readonly EntitlementQuestion[],
  ): Promise<readonly string[]> {
    const matters = appAdmin.length > 0 && questions.some(({ feature }) => feature.startsWith("app:"));
    return matters ? apps.slugsOf(appAdmin) : [];
  }

  return {
    /** Whether the caller has a feature in an organization. */
    async check(caller: Caller, feature: string, orgUuid: string): Promise<Decision> {
      return decide(caller, feature, orgUuid, await administered(caller, [{ feature, orgUuid }]));
    },

    /** Answers many checks in the order asked, each with what decided it. */
    async explain(
      caller: Caller,
      questions: readonly EntitlementQuestion[],
    ): Promise<(EntitlementQuestion & Decision & { explain: Explanation })[]> {
      const own = await administered(caller, questions);
      const decided = questions.map((question) => ({
        ...question,
        ...decide(caller, question.feature, question.orgUuid, own),
      }));
      const slugs = decided
        .filter(({ granted, feature }) => granted && feature.startsWith("app:"))
        .map(({ feature }) => feature.slice(4));
      const facts = slugs.length === 0 ? [] : await apps.factsOf([...new Set(slugs)], caller.userUuid, caller.orgUuid);
      const bySlug = new Map(facts.map((fact) => [fact.slug, fact]));
      return decided.map((one) => ({ ...one, explain: explain(one, bySlug.get(one.feature.slice(4))) }));
    },
  };
}
