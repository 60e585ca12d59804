import { createClient } from "@connectrpc/connect";
import { TemplatesService } from "../../../../gen/atrium/templates/v1/templates_pb.ts";
import type { Template } from "../../../../gen/atrium/templates/v1/templates_pb.ts";
import { changedMeanwhile, failureOf } from "../../session/failures.ts";
import type { Failure } from "../../session/failures.ts";
import { queries, transport } from "../../session/session.ts";

const templates = createClient(TemplatesService, transport);

/** What the editor changes of a template. */
export type Texts = Record<"name" | "category" | "body", string>;

export const textsOf = ({ name, category, body = "" }: Template): Texts => ({ name, category, body });

/** Why changes must not be saved: somebody else changed the same texts, or the template cannot be read. */
export async function conflictOf(id: string, base: Texts, changes: Partial<Texts>): Promise<Failure | undefined> {
  try {
    const now = textsOf(await templates.getTemplate({ id }));
    if ((Object.keys(changes) as (keyof Texts)[]).every((name) => now[name] === base[name])) return undefined;
    void queries.invalidateQueries();
    return changedMeanwhile("template", "keep a copy of your text and load this page again");
  } catch (error) {
    return failureOf(error);
  }
}
