import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { Events } from "../event-catalogue/index.ts";
import { templatesRpc } from "./rpc.ts";
import { createTemplates } from "./templates.ts";

/** Document templates, custom variables, and the curriculum vitae. */
export const templatesDomain = defineDomain(
  "templates",
  ({ eventCatalogue: events, contexts, ...below }: Ground & { eventCatalogue: Events }) => {
    const templates = createTemplates({ ...below, events });
    return { ...templates, services: [templatesRpc(templates, contexts)] };
  },
);
