import { toJson } from "@bufbuild/protobuf";
import { ListValueSchema, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ListValue } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { TemplatesService } from "../../../gen/atrium/templates/v1/templates_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import { printCv } from "./cv.ts";
import type { StoredTemplate, TemplateRow } from "./store.ts";
import type { Templates } from "./templates.ts";
import type { VariableRow } from "./variable-store.ts";
import { scopeOf } from "./variables.ts";
import type { Scope } from "./variables.ts";

/** `atrium.templates.v1.TemplatesService`. */
export function templatesRpc({ manage, render, variables }: Templates, contexts: RequestContexts): ServiceRegistration {
  return registration(TemplatesService, {
    // The field rules of the contract admit only the two scopes.
    listVariables: async (request, call) => {
      const page = pageOf(request);
      const { rows, ...total } = await variables.list(contexts.authenticated(call), request.scope as Scope, page);
      return { data: rows.map(printVariable), ...total, ...page };
    },
    createVariable: async ({ key, value = "", scope = "global" }, call) => ({
      data: printVariable(await variables.create(contexts.authenticated(call), key, value, scope as Scope)),
    }),
    updateVariable: async ({ id, value = "", key }, call) =>
      printVariable(await variables.update(contexts.authenticated(call), id, value, key)),
    deleteVariable: async ({ id }, call) => {
      await variables.remove(contexts.authenticated(call), id);
      return {};
    },
    listTemplates: async (request, call) => {
      const page = pageOf(request);
      const { rows, ...total } = await manage.list(contexts.authenticated(call), request.category, page);
      return { data: rows.map(printRow), ...total, ...page };
    },
    getTemplate: async ({ id }, call) =>
      printTemplate(await manage.get(contexts.authenticated(call), id.toLowerCase())),
    createTemplate: async (request, call) => printTemplate(await manage.create(contexts.authenticated(call), request)),
    updateTemplate: async ({ id, variables: names, ...wish }, call) =>
      printTemplate(
        await manage.update(contexts.authenticated(call), id.toLowerCase(), { ...wish, variables: itemsOf(names) }),
      ),
    deleteTemplate: async ({ id }, call) => {
      await manage.remove(contexts.authenticated(call), id.toLowerCase());
      return { deleted: true };
    },
    renderTemplate: async ({ templateId, variables: given, format = "html" }, call) => {
      const rendered = await render(contexts.authenticated(call), templateId.toLowerCase(), given, format || "html");
      return { ...rendered, message: "The template was rendered." };
    },
    generateCv: (request) => ({ html: printCv(request), message: "The curriculum vitae was generated." }),
  } satisfies ServiceImpl<typeof TemplatesService>);
}

function printVariable(row: VariableRow) {
  return { id: row.id, key: row.key, value: row.value, scope: scopeOf(row) };
}

function printRow({ id, name, category, variables, createdAt }: TemplateRow) {
  return { id, name, category, variables, createdAt: timestampFromDate(createdAt) };
}

function printTemplate(row: StoredTemplate) {
  return { ...printRow(row), ...(row.body === null ? {} : { body: row.body }) };
}

function itemsOf(list: ListValue | undefined): unknown[] | undefined {
  return list === undefined ? undefined : toJson(ListValueSchema, list);
}
