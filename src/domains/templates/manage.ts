import { callerOrg } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Page } from "../../platform/db/paging.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { TemplatesDeps } from "./deps.ts";
import { templateErrors } from "./errors.ts";
import { cut } from "./html/index.ts";
import { checkSize, declaredNames, MAX_ROWS } from "./rules.ts";
import * as store from "./store.ts";
import type { StoredTemplate } from "./store.ts";

/** Members of a template that a client sets; those that are absent stay as they are. */
export interface TemplateChange {
  name?: string | undefined;
  category?: string | undefined;
  /** Names, judged here: a list in JSON may contain anything. */
  variables?: readonly unknown[] | undefined;
  /** Empty for the default layout. */
  body?: string | undefined;
}

/** Creating, reading, changing and deleting templates (decisions 10.10). */
export function createManage({ database, clock, random, events, reader }: TemplatesDeps) {
  async function judge({ variables, body }: TemplateChange, orgUuid: string): Promise<Judged> {
    const declared = variables && declaredNames(variables);
    if (body === undefined) return { declared, placeholders: undefined };
    checkSize("body", body);
    return { declared, placeholders: await reader.read("names", body, orgUuid) };
  }

  return {
    /** Templates of the caller's organization, newest first. */
    list: ({ caller }: CallerContext, category: string | undefined, page: Page) =>
      store.templatesOf(database, callerOrg(caller), category, page),

    /** @throws {template_not_found} when there is no such template */
    get: async ({ caller }: CallerContext, id: string): Promise<StoredTemplate> => {
      const row = await store.findTemplate(database, callerOrg(caller), id);
      if (row === undefined) throw templateErrors.notFound();
      return row;
    },

    /**
     * Creates a template.
     * @throws {invalid_template} for a placeholder whose value could not be escaped safely, and for too many levels
     * @throws {conflict} when the organization has 1,000
     */
    create: async (context: CallerContext, wish: TemplateChange & { name: string; category: string }) => {
      const orgUuid = callerOrg(context.caller);
      const { name, category } = wish;
      const empty = { id: random.uuid(), name, category, declared: [], variables: [], body: null };
      const judged = await judge(wish, orgUuid);
      const row = changed({ ...empty, createdAt: dateOf(clock) }, wish, judged);
      await context.transaction(async (tx) => {
        if (!(await store.insertTemplate(tx, orgUuid, row, MAX_ROWS))) throw templateErrors.tooManyTemplates();
        await events.emit(tx, EVENTS["template.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: row.id,
          metadata: { name, category },
        });
      });
      return row;
    },

    /**
     * Changes the members that are given.
     * @throws {template_not_found} when there is no such template
     * @throws {invalid_template} for a placeholder whose value could not be escaped safely, and for too many levels
     */
    update: async (context: CallerContext, id: string, wish: TemplateChange): Promise<StoredTemplate> => {
      const orgUuid = callerOrg(context.caller);
      const judged = await judge(wish, orgUuid);
      return context.transaction(async (tx) => {
        const present = await store.lockTemplate(tx, orgUuid, id);
        if (present === undefined) throw templateErrors.notFound();
        const row = changed(present, wish, judged);
        await store.updateTemplate(tx, row);
        await events.emit(tx, EVENTS["template.updated"], {
          by: causedBy(context),
          orgUuid,
          resourceId: id,
          metadata: { name: row.name, category: row.category },
        });
        return row;
      });
    },

    /** @throws {template_not_found} when there is no such template */
    remove: async (context: CallerContext, id: string): Promise<void> => {
      const orgUuid = callerOrg(context.caller);
      await context.transaction(async (tx) => {
        const name = await store.deleteTemplate(tx, orgUuid, id);
        if (name === undefined) throw templateErrors.notFound();
        await events.emit(tx, EVENTS["template.deleted"], {
          by: causedBy(context),
          orgUuid,
          resourceId: id,
          metadata: { name },
        });
      });
    },
  };
}

/** Names in the members of a change that are given. */
interface Judged {
  declared: string[] | undefined;
  placeholders: readonly string[] | undefined;
}

/** A template after a change. */
function changed(row: StoredTemplate, wish: TemplateChange, judged: Judged): StoredTemplate {
  const declared = judged.declared ?? row.declared;
  const body = wish.body === undefined ? row.body : wish.body || null;
  const names = judged.placeholders ?? cut(row.body ?? "").names;
  return {
    ...row,
    name: wish.name ?? row.name,
    category: wish.category ?? row.category,
    declared,
    body,
    variables: [...new Set([...declared, ...names])],
  };
}
