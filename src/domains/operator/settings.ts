import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { organizationErrors } from "../organizations/index.ts";
import type { Organizations } from "../organizations/index.ts";
import * as store from "./settings-store.ts";
import type { SettingsRow } from "./settings-store.ts";

/** Longest retention without the plan `enterprise` (decisions 5.6). */
const MAX_USUAL_DAYS = 90;

/** Dependencies of settings. */
export interface SettingsDeps {
  database: Database;
  clock: Clock;
  events: Pick<Events, "emit">;
  organizations: Pick<Organizations, "lock">;
}

/** Settings of organizations, made by the operator of the installation. */
export function createSettings({ database, clock, events, organizations }: SettingsDeps) {
  return {
    /**
     * Sets how many days audit events are retained.
     * @throws {not_found} when there is no such organization
     * @throws {unprocessable} when the plan does not allow that many days
     */
    setRetention: (context: CallerContext, orgUuid: string, days: number): Promise<SettingsRow> =>
      context.transaction(async (tx) => {
        const org = await organizations.lock(tx, orgUuid);
        if (org === undefined) throw organizationErrors.notFound();
        if (days > MAX_USUAL_DAYS && org.plan !== "enterprise") {
          throw errors.unprocessable({
            message: `More than ${MAX_USUAL_DAYS} days need the plan enterprise; this organization has ${org.plan}.`,
          });
        }
        const before = await store.settingsOf(tx, orgUuid);
        await store.putRetention(tx, orgUuid, days, dateOf(clock));
        await events.emit(tx, EVENTS["retention.updated"], {
          by: causedBy(context),
          orgUuid,
          resourceId: orgUuid,
          metadata: { audit_retention_days: days, previous: before?.auditRetentionDays ?? MAX_USUAL_DAYS },
        });
        const row = await store.settingsOf(tx, orgUuid);
        if (row === undefined) throw organizationErrors.notFound();
        return row;
      }),

    /**
     * Settings of one organization.
     * @throws {not_found} when there is no such organization
     */
    async find(orgUuid: string): Promise<SettingsRow> {
      const found = await store.findSettings(database, orgUuid);
      if (found === undefined) throw organizationErrors.notFound();
      return found;
    },

    /** A page of the settings of every organization. */
    list: (page: Page): Promise<Listed<SettingsRow>> => store.pageOfSettings(database, page),

    /** Records when the plan enterprise ended: a longer retention stays for 30 days from then. */
    recordPlanEnds: (): Promise<number> => store.recordPlanEnds(database.background, dateOf(clock)),
  };
}
