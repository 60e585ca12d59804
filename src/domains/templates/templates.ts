import type { TemplatesDeps } from "./deps.ts";
import { createManage } from "./manage.ts";
import { createRender } from "./render.ts";
import { createVariables } from "./variables.ts";

/** Document templates and the variables that fill them (decisions 10.10 and 10.11). */
export function createTemplates(deps: TemplatesDeps) {
  return { manage: createManage(deps), render: createRender(deps), variables: createVariables(deps) };
}

/** Templates as the service of the contract uses them. */
export type Templates = ReturnType<typeof createTemplates>;
