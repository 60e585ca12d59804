import { replacementOf } from "./attributes.ts";
import type { CompiledTemplate, JudgedValue } from "./compile.ts";
import type { Pieces } from "./placeholders.ts";

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes a value for text and for attribute values in either quotes. */
export function escapeHtml(value: string): string {
  return /[&<>"']/u.test(value) ? value.replaceAll(/[&<>"']/gu, (character) => ESCAPES[character] ?? "") : value;
}

/** The document would be larger than allowed. */
export class TooLarge extends Error {}

/** Counts the bytes of a document while it is made. */
function createSizeLimit(maxBytes: number): (text: string) => string {
  let left = maxBytes;
  return (text) => {
    // UTF-8 never has fewer bytes than UTF-16 has units.
    left -= text.length > left ? Infinity : Buffer.byteLength(text);
    if (left < 0) throw new TooLarge();
    return text;
  };
}

/**
 * Fills a compiled template. Values are inserted once, and never read as templates themselves.
 * @param valueOf value of a name of the template
 * @throws TooLarge when the document has more than `maxBytes`
 */
export function fillHtml(template: CompiledTemplate, valueOf: (name: string) => string, maxBytes: number): string {
  const { texts, slots } = template;
  const counted = createSizeLimit(maxBytes);
  const escaped = new Map<string, string>();
  const escapedOf = (name: string): string => {
    const known = escaped.get(name);
    if (known !== undefined) return known;
    const made = escapeHtml(valueOf(name));
    escaped.set(name, made);
    return made;
  };
  let filled = counted(texts[0] ?? "");
  for (const [nth, slot] of slots.entries()) {
    filled += counted("name" in slot ? escapedOf(slot.name) : judged(slot, valueOf, escapedOf, maxBytes));
    filled += counted(texts[nth + 1] ?? "");
  }
  return filled;
}

function judged(
  { rule, raw, decoded }: JudgedValue,
  valueOf: (name: string) => string,
  escapedOf: (name: string) => string,
  maxBytes: number,
): string {
  return replacementOf(rule, fillText(decoded, valueOf, maxBytes)) ?? fillText(raw, escapedOf, maxBytes);
}

/** Fills a text that is no markup. @throws TooLarge when it has more than `maxBytes` */
export function fillText({ texts, names }: Pieces, valueOf: (name: string) => string, maxBytes: number): string {
  const counted = createSizeLimit(maxBytes);
  let whole = counted(texts[0] ?? "");
  for (const [nth, name] of names.entries()) whole += counted(valueOf(name)) + counted(texts[nth + 1] ?? "");
  return whole;
}
