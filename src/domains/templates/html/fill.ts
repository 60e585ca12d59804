import { escapeHtml } from "../../../platform/html.ts";
import { replacementOf } from "./attributes.ts";
import type { CompiledTemplate, JudgedValue } from "./compile.ts";
import type { Pieces } from "./placeholders.ts";

/** The document would be larger than allowed. */
export class TooLarge extends Error {}

/** Bounds a document while it is made, and in the end its bytes, which are counted where they may be too many. */
function createSizeLimit(maxBytes: number) {
  let units = 0;
  return {
    /** UTF-8 never has fewer bytes than UTF-16 has units. */
    add(text: string): string {
      units += text.length;
      if (units > maxBytes) throw new TooLarge();
      return text;
    },
    /** UTF-8 has at most three bytes for a unit of UTF-16. */
    whole(text: string): string {
      if (units * 3 > maxBytes && Buffer.byteLength(text) > maxBytes) throw new TooLarge();
      return text;
    },
  };
}

/**
 * Fills a compiled template. Values are inserted once, and never read as templates themselves.
 * @param valueOf value of a name of the template
 * @throws TooLarge when the document, or all that is judged for it, has more than `maxBytes`
 */
export function fillHtml(template: CompiledTemplate, valueOf: (name: string) => string, maxBytes: number): string {
  const { texts, slots } = template;
  const limit = createSizeLimit(maxBytes);
  // Values that are replaced do not count in the document, and reading them takes time.
  const judgedLimit = createSizeLimit(maxBytes);
  const escaped = new Map<string, string>();
  const escapedOf = (name: string): string => {
    const known = escaped.get(name);
    if (known !== undefined) return known;
    const made = escapeHtml(valueOf(name));
    escaped.set(name, made);
    return made;
  };
  const judged = ({ rule, raw, decoded }: JudgedValue): string => {
    const value = judgedLimit.add(fillText(decoded, valueOf, maxBytes));
    return replacementOf(rule, value) ?? fillText(raw, escapedOf, maxBytes);
  };
  let filled = limit.add(texts[0] ?? "");
  for (let nth = 0; nth < slots.length; nth++) {
    const slot = slots[nth] as (typeof slots)[number];
    filled += limit.add("name" in slot ? escapedOf(slot.name) : judged(slot));
    filled += limit.add(texts[nth + 1] ?? "");
  }
  return limit.whole(filled);
}

/** Fills a text that is no markup. @throws TooLarge when it has more than `maxBytes` */
export function fillText({ texts, names }: Pieces, valueOf: (name: string) => string, maxBytes: number): string {
  const limit = createSizeLimit(maxBytes);
  let filled = limit.add(texts[0] ?? "");
  for (const [nth, name] of names.entries()) filled += limit.add(valueOf(name)) + limit.add(texts[nth + 1] ?? "");
  return limit.whole(filled);
}
