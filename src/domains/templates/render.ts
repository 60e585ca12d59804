import { callerOrg } from "../../platform/caller.ts";
import type { CallerContext } from "../../platform/context.ts";
import { createLru } from "../../platform/lru.ts";
import type { TemplatesDeps } from "./deps.ts";
import { templateErrors } from "./errors.ts";
import { fillHtml, fillText, TooLarge } from "./html/index.ts";
import type { CompiledTemplate, Pieces } from "./html/index.ts";
import { defaultLayout } from "./layout.ts";
import { MAX_DOCUMENT_BYTES } from "./rules.ts";
import { findToRender } from "./store.ts";
import { valuesOf } from "./variable-store.ts";

/** A rendered document. */
export type Rendered = { html: string } | { text: string };

interface Compiled {
  revision: number;
  html(): Promise<CompiledTemplate>;
  /** The template as plain text. */
  text(): Promise<Pieces>;
}

/**
 * Maximum size of the stored values of a document, which are all in memory at once. Beyond twice the limit of a
 * document, either its text or what is judged for its attributes is too large.
 */
const MAX_VALUES_BYTES = 2 * MAX_DOCUMENT_BYTES;
/** Compiled templates that an instance keeps; a body has at most 256 KiB. */
const KEPT = 200;

/** Makes a value when it is first asked for, and again when that failed. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    if (made !== undefined) return made;
    made = make();
    made.catch(() => (made = undefined));
    return made;
  };
}

/** Filling of templates (decisions 10.10). */
export function createRender({ database, reader }: Pick<TemplatesDeps, "database" | "reader">) {
  const compiled = createLru<Compiled>(KEPT);

  /** The present revision of a template, compiled at most once. */
  async function current(orgUuid: string, id: string): Promise<Compiled> {
    const key = `${orgUuid} ${id}`;
    const known = compiled.get(key);
    const row = await findToRender(database, orgUuid, id, known?.revision);
    if (row === undefined) throw templateErrors.notFound();
    const { body, name, variables, revision } = row;
    if (body === undefined && known !== undefined) return known;
    const source = body ?? defaultLayout(name, variables);
    const made = {
      revision,
      html: once(() => reader.read("html", source, orgUuid)),
      text: once(() => reader.read("text", source, orgUuid)),
    };
    compiled.set(key, made);
    return made;
  }

  /**
   * Fills a template of the caller's organization. A given value wins over a variable of the caller's, and that over a
   * global one.
   * @throws {template_not_found} when there is no such template
   * @throws {invalid_format} for another format than `html` and `text`
   * @throws {invalid_template} when the template was stored before its elements, or as text their levels, were limited
   * @throws {missing_variable} for a placeholder without a value
   * @throws {payload_too_large} when the document has more than 5 MiB, or its stored values more than 10 MiB
   */
  return async function render(
    { caller }: CallerContext,
    id: string,
    given: Readonly<Record<string, string>>,
    format: string,
  ): Promise<Rendered> {
    if (format !== "html" && format !== "text") throw templateErrors.invalidFormat();
    const orgUuid = callerOrg(caller);
    const template = await current(orgUuid, id);
    const html = await template.html();
    const names = html.names.filter((name) => !Object.hasOwn(given, name));
    const stored =
      names.length === 0
        ? new Map<string, string>()
        : await valuesOf(database, orgUuid, caller.userUuid, names, MAX_VALUES_BYTES);
    if (stored === undefined) throw templateErrors.documentTooLarge();
    const missing = names.find((name) => !stored.has(name));
    if (missing !== undefined)
      throw templateErrors.missingVariable({
        message: `The placeholder ${missing} has no value; send one in variables.`,
      });
    const valueOf = (name: string): string => (Object.hasOwn(given, name) ? given[name] : stored.get(name)) ?? "";
    try {
      return format === "html"
        ? { html: fillHtml(html, valueOf, MAX_DOCUMENT_BYTES) }
        : { text: fillText(await template.text(), valueOf, MAX_DOCUMENT_BYTES) };
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
      throw templateErrors.documentTooLarge();
    }
  };
}
