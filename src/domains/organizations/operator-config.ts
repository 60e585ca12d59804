import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Total } from "../../platform/db/counting.ts";
import type { Database } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { actorOf } from "../audit-record/index.ts";
import type { Audit } from "../auth-events/index.ts";
import { organizationErrors } from "./errors.ts";
import * as settings from "./settings-store.ts";
import type { SettingsRow } from "./settings-store.ts";
import { lockOrganization } from "./store.ts";

/** Longest retention without the plan `enterprise`, days (decisions 5.6). */
const LONGEST_USUAL = 90;

/** One organization's settings, or a page of all. */
export type OperatorConfig = { one: SettingsRow } | ({ data: SettingsRow[]; limit: number; offset: number } & Total);

/** What settings by the operator need. */
export interface OperatorConfigDeps {
  database: Database;
  clock: Clock;
  audit: Pick<Audit, "record">;
}

/** What the operator of the installation sets for organizations. */
export function createOperatorConfig({ database, clock, audit }: OperatorConfigDeps) {
  return {
    /**
     * Sets how many days audit events are kept. Throws `not_found`, or `unprocessable` for what the plan does not give.
     */
    setRetention: (caller: Caller, info: RequestInfo, orgUuid: string, days: number): Promise<SettingsRow> =>
      database.transaction(async (tx) => {
        const org = await lockOrganization(tx, orgUuid);
        if (org === undefined) throw organizationErrors.notFound();
        if (days > LONGEST_USUAL && org.plan !== "enterprise") {
          throw errors.unprocessable({
            message: `More than ${LONGEST_USUAL} days need the plan enterprise; this organization has ${org.plan}.`,
          });
        }
        const before = await settings.settingsOf(tx, orgUuid);
        await settings.putRetention(tx, orgUuid, days, dateOf(clock));
        const resource = { type: "organization", id: orgUuid };
        const metadata = { audit_retention_days: days, previous: before?.audit_retention_days ?? LONGEST_USUAL };
        await audit.record(tx, {
          type: "retention.updated",
          outcome: "success",
          userUuid: caller.userUuid,
          orgUuid,
          info,
          actor: actorOf(caller),
          resource,
          metadata,
        });
        const row = await settings.settingsOf(tx, orgUuid);
        if (row === undefined) throw organizationErrors.notFound();
        return row;
      }, caller),

    /** Settings of one organization (else `not_found`), or a page of all by name. */
    async read(orgUuid: string | undefined, limit = 50, offset = 0): Promise<OperatorConfig> {
      if (orgUuid !== undefined && orgUuid !== "") {
        const one = await database.transaction((tx) => settings.settingsOf(tx, orgUuid));
        if (one === undefined) throw organizationErrors.notFound();
        return { one };
      }
      const [data, total] = await Promise.all([
        settings.pageOfSettings(database, limit, offset),
        settings.countSettings(database),
      ]);
      return { data, ...total, limit, offset };
    },

    // Records when the plan enterprise ended: a longer retention stays for 30 days from then.
    tidy: { plans: () => settings.notePlans(database.background, dateOf(clock)) },
  };
}

/** Settings by the operator. */
export type OperatorConfigs = ReturnType<typeof createOperatorConfig>;
