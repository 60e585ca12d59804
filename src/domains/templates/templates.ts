import type { TemplatesDeps } from "./deps.ts";
import { createManage } from "./manage.ts";
import { createReader } from "./reader.ts";
import { createRender } from "./render.ts";
import { createVariables } from "./variables.ts";

/** Document templates and the variables that fill them (decisions 10.10 and 10.11). */
export function createTemplates(below: Omit<TemplatesDeps, "reader">) {
  const reader = createReader();
  const deps = { ...below, reader };
  return {
    manage: createManage(deps),
    render: createRender(deps),
    variables: createVariables(deps),
    /** Ends what reads the bodies. */
    close: () => reader.close(),
  };
}

/** Templates as the service of the contract uses them. */
export type Templates = ReturnType<typeof createTemplates>;
