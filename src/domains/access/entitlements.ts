import type { Caller } from "../../platform/caller.ts";
import type { Database } from "../../platform/db/types.ts";
import { factsOf, slugsOf } from "./app-store.ts";
import { decide, explain } from "./rules.ts";
import type { Decision, Explanation } from "./rules.ts";

/** A feature that is asked for in an organization. */
export interface EntitlementQuestion {
  feature: string;
  orgUuid: string;
}

/** Entitlement checks (decisions 3.12): the verified token decides; only the names of apps are looked up. */
export function createEntitlements(database: Pick<Database, "prepared">) {
  /** Slugs of the apps the caller administers, where that matters for any of these features. */
  async function administered(
    { appAdmin }: Caller,
    questions: readonly EntitlementQuestion[],
  ): Promise<readonly string[]> {
    const matters = appAdmin.length > 0 && questions.some(({ feature }) => feature.startsWith("app:"));
    return matters ? slugsOf(database, appAdmin) : [];
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
      const facts =
        slugs.length === 0 ? [] : await factsOf(database, [...new Set(slugs)], caller.userUuid, caller.orgUuid);
      const bySlug = new Map(facts.map((fact) => [fact.slug, fact]));
      return decided.map((one) => ({ ...one, explain: explain(one, bySlug.get(one.feature.slice(4))) }));
    },
  };
}
