import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Page } from "../../platform/db/paging.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { TemplatesDeps } from "./deps.ts";
import { templateErrors } from "./errors.ts";
import { checkSize, MAX_ROWS, mayChangeGlobal } from "./rules.ts";
import * as store from "./variable-store.ts";
import type { VariableRow } from "./variable-store.ts";

/** Scopes of variables: the organization's, or one person's. */
export type Scope = "global" | "user";

/** Custom variables (decisions 10.11). */
export function createVariables({ database, clock, events }: Omit<TemplatesDeps, "random">) {
  /** @throws {forbidden} when the caller may not change a variable of this owner */
  function checkRight(caller: Caller, ownerUuid: string | null): void {
    if (ownerUuid === null && !mayChangeGlobal(caller)) throw templateErrors.globalNeedsAdmin();
  }

  return {
    /** The organization's global variables and the caller's own, by key. */
    list: ({ caller }: CallerContext, scope: Scope | undefined, page: Page) =>
      store.variablesOf(database, callerOrg(caller), caller.userUuid, scope, page),

    /**
     * Creates a variable.
     * @throws {forbidden} for a global one by somebody who is no admin, or a person's own by no person
     * @throws {variable_exists} when the key is taken in its scope
     */
    create: async (context: CallerContext, key: string, value: string, scope: Scope): Promise<VariableRow> => {
      const { caller } = context;
      const [orgUuid, ownerUuid] = [callerOrg(caller), scope === "user" ? caller.userUuid : null];
      if (scope === "user" && ownerUuid === null) throw templateErrors.noPerson();
      checkRight(caller, ownerUuid);
      checkSize("value", value);
      return context.transaction(async (tx) => {
        const id = await store.insertVariable(tx, orgUuid, { key, value, ownerUuid }, dateOf(clock), MAX_ROWS);
        if (id === "exists") throw templateErrors.variableExists();
        if (id === "full") throw templateErrors.tooManyVariables();
        await events.emit(tx, EVENTS["variable.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: String(id),
          metadata: { key, scope },
        });
        return { id, key, value, ownerUuid };
      });
    },

    /**
     * Replaces the value of a variable, and its key where one is given.
     * @throws {not_found} when the caller sees no such variable
     * @throws {forbidden} for a global one by somebody who is no admin
     * @throws {variable_exists} when the key is taken in its scope
     */
    update: async (
      context: CallerContext,
      id: number,
      value: string,
      key: string | undefined,
    ): Promise<VariableRow> => {
      const { caller } = context;
      const orgUuid = callerOrg(caller);
      checkSize("value", value);
      return context.transaction(async (tx) => {
        const present = await store.lockVariable(tx, orgUuid, caller.userUuid, id);
        if (present === undefined) throw templateErrors.variableNotFound();
        checkRight(caller, present.ownerUuid);
        const row = { ...present, value, key: key ?? present.key };
        if (row.key !== present.key && (await store.isKeyTaken(tx, orgUuid, row)))
          throw templateErrors.variableExists();
        await store.updateVariable(tx, row);
        await events.emit(tx, EVENTS["variable.updated"], {
          by: causedBy(context),
          orgUuid,
          resourceId: String(id),
          metadata: { key: row.key, scope: scopeOf(row) },
        });
        return row;
      });
    },

    /**
     * Deletes a variable.
     * @throws {not_found} when the caller sees no such variable
     * @throws {forbidden} for a global one by somebody who is no admin
     */
    remove: async (context: CallerContext, id: number): Promise<void> => {
      const { caller } = context;
      const orgUuid = callerOrg(caller);
      await context.transaction(async (tx) => {
        const row = await store.lockVariable(tx, orgUuid, caller.userUuid, id);
        if (row === undefined) throw templateErrors.variableNotFound();
        checkRight(caller, row.ownerUuid);
        await store.deleteVariable(tx, id);
        await events.emit(tx, EVENTS["variable.deleted"], {
          by: causedBy(context),
          orgUuid,
          resourceId: String(id),
          metadata: { key: row.key, scope: scopeOf(row) },
        });
      });
    },
  };
}

/** The scope of a variable. */
export const scopeOf = ({ ownerUuid }: Pick<VariableRow, "ownerUuid">): Scope =>
  ownerUuid === null ? "global" : "user";
