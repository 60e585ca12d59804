import { InvalidBody } from "./invalid-body.ts";
import { cut, placeholdersIn } from "./placeholders.ts";
import type { Pieces, Placeholder } from "./placeholders.ts";
import { scanPlaces } from "./scan.ts";
import type { Place } from "./scan.ts";

/** A value that is judged as a whole, with its static parts: what a URL begins with decides. */
export interface JudgedValue {
  rule: Place["rule"];
  /** As in the source. */
  raw: Pieces;
  /** With character references decoded. */
  decoded: Pieces;
}

/** One part of a template after a static text. */
export type Slot = { name: string } | JudgedValue;

/** A template ready to be filled: static texts and slots in turn, beginning and ending with a text. */
export interface CompiledTemplate {
  texts: readonly string[];
  slots: readonly Slot[];
  /** Names of its placeholders, each once, in order. */
  names: readonly string[];
}

/** A placeholder where its value could not be escaped safely. */
export class UnsafePlaceholder extends InvalidBody {
  constructor(source: string, { name, start }: Pick<Placeholder, "name" | "start">) {
    const lines = source.slice(0, start).split("\n");
    const column = (lines.at(-1) ?? "").length + 1;
    const place = `line ${lines.length}, column ${column}`;
    super(`{{${name}}} in ${place}, is not in text or in a quoted value of an attribute that takes placeholders.`);
    this.name = "UnsafePlaceholder";
  }
}

/**
 * Compiles HTML with placeholders. A placeholder has to lie in text or in a quoted attribute value, as the HTML
 * standard reads the source; whatever is not found there is refused, so that no value can change the structure of the
 * document.
 * @throws UnsafePlaceholder for a placeholder anywhere else
 * @throws InvalidBody for too many elements
 */
export function compileHtml(source: string): CompiledTemplate {
  const placeholders = placeholdersIn(source);
  const [texts, slots]: [string[], Slot[]] = [[], []];
  // Without placeholders there is nothing to judge.
  const places = placeholders.length === 0 ? [] : scanPlaces(source).sort((one, other) => one.start - other.start);
  let [at, nth] = [0, 0];
  for (let index = 0; index < placeholders.length; index++) {
    const placeholder = placeholders[index] as Placeholder;
    const { start, end, name } = placeholder;
    while ((places[nth]?.end ?? Infinity) < end) nth++;
    const place = places[nth];
    if (place === undefined || start < place.start || end > place.end) throw new UnsafePlaceholder(source, placeholder);
    if (completesMarkup(source, start, place)) throw new UnsafePlaceholder(source, placeholder);
    if (place.rule === "text") {
      texts.push(source.slice(at, start));
      slots.push({ name });
      at = end;
      continue;
    }
    const [raw, decoded] = [cut(source.slice(place.start, place.end)), cut(place.decoded ?? "")];
    // A placeholder that only decoding produces is none, and must not be taken for one.
    if (raw.names.join() !== decoded.names.join()) throw new UnsafePlaceholder(source, placeholder);
    for (const inside of placeholders.slice(index, index + raw.names.length))
      if (completesMarkup(source, inside.start, place)) throw new UnsafePlaceholder(source, inside);
    texts.push(source.slice(at, place.start));
    slots.push({ rule: place.rule, raw, decoded });
    at = place.end;
    index += raw.names.length - 1;
  }
  texts.push(source.slice(at));
  return { texts, slots, names: [...new Set(placeholders.map(({ name }) => name))] };
}

/**
 * Whether a value at `start` could complete what stands before it: in text the name of a tag that the source leaves
 * open, in a value that is judged a character reference, which would be decoded after the judgement.
 */
function completesMarkup(source: string, start: number, { start: from, rule, decoded }: Place): boolean {
  let at = start;
  // Stops at the placeholder before this one, so that all of these together read the source once.
  while (at > from && /[0-9A-Za-z#]/u.test(source[at - 1] ?? "")) at--;
  if (rule !== "text") return at > from && source[at - 1] === "&";
  if (decoded !== undefined) return false;
  if (at > from && source[at - 1] === "/") at--;
  return at > from && source[at - 1] === "<";
}
