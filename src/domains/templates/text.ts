import { createHash } from "node:crypto";
import { convert } from "html-to-text";
import type { FormatCallback } from "html-to-text";
import { Parser } from "htmlparser2";
import { cut, InvalidBody } from "./html/index.ts";
import type { Pieces } from "./html/index.ts";

/** Maximum number of levels of elements: the conversion to text takes some of the stack for each. */
const MAX_LEVELS = 500;
/** More levels are not read to their end: the parser takes quadratic time for them. Some are outside of the body. */
const MAX_PARSED_LEVELS = MAX_LEVELS + 100;
/** Maximum number of levels of lists and quotes: each makes every line in it longer. */
const MAX_INDENTED_LEVELS = 50;

/** The elements of a template are nested too deeply for a conversion to text. */
class TooDeep extends InvalidBody {
  constructor(levels: string) {
    super(`The body has more than ${levels}; use fewer.`);
    this.name = "TooDeep";
  }
}

/** Elements whose lines are indented, and the formatters that the package has for them. */
const INDENTED: Readonly<Record<string, string>> = {
  blockquote: "blockquote",
  ul: "unorderedList",
  ol: "orderedList",
};
const INDENTED_TAG = new RegExp(`<(?:${Object.keys(INDENTED).join("|")})`, "iu");

/** Creates a formatter that calls the package's own, which the builder has in its options. */
function limitIndentation(): FormatCallback {
  let levels = 0;
  return (element, walk, builder, options) => {
    if (++levels > MAX_INDENTED_LEVELS) throw new TooDeep(`${MAX_INDENTED_LEVELS} levels of lists and quotes`);
    const { formatters } = (builder as unknown as { options: { formatters: Record<string, FormatCallback> } }).options;
    formatters[INDENTED[element.name ?? ""] ?? ""]?.(element, walk, builder, options);
    levels--;
  };
}

/** Separates a cell of a table from the one before it. */
const formatCell: FormatCallback = (element, walk, builder) => {
  builder.addInline(" ");
  walk(element.children, builder);
};

/** @throws TooDeep as soon as an element has more levels than are read */
function demandParsable(source: string): void {
  let levels = 0;
  const parser = new Parser({
    onopentagname() {
      if (++levels > MAX_PARSED_LEVELS) throw new TooDeep(`${MAX_LEVELS} levels of elements`);
    },
    onclosetag() {
      levels--;
    },
  });
  parser.end(source);
}

/**
 * A template as plain text, with a line for each row of a table. Its placeholders are those of the source: braces that
 * the conversion decodes are text.
 * @throws InvalidBody when its elements have more than {@link MAX_LEVELS} levels, or {@link MAX_INDENTED_LEVELS} of
 *   lists and quotes
 */
export function textOf(source: string): Pieces {
  demandParsable(source);
  const { texts, names } = cut(source);
  // No source contains its own digest.
  const mark = createHash("sha256").update(source).digest("hex");
  const marked = texts.reduce((before, text, nth) => `${before}${mark}.${nth - 1}.${text}`);
  const tooDeep = `${mark}!`;
  const text = convert(marked, {
    wordwrap: false,
    limits: { maxDepth: MAX_LEVELS, ellipsis: tooDeep },
    formatters: { cell: formatCell, indented: limitIndentation() },
    selectors: [
      { selector: "img", format: "skip" },
      ...Object.keys(INDENTED).map((selector) => ({ selector, format: "indented" })),
      { selector: "tr", format: "block", options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
      ...["td", "th"].map((selector) => ({ selector, format: "cell" })),
      ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: { uppercase: false } })),
    ],
  });
  if (text.includes(tooDeep)) throw new TooDeep(`${MAX_LEVELS} levels of elements`);
  const parts = text.split(new RegExp(`${mark}\\.(\\d+)\\.`, "u"));
  return {
    texts: parts.filter((_, nth) => nth % 2 === 0),
    names: parts.filter((_, nth) => nth % 2 === 1).map((nth) => names[Number(nth)] ?? ""),
  };
}

/** @throws InvalidBody when the elements of a template have too many levels for {@link textOf} */
export function checkLevels(source: string): void {
  // Each level takes a tag.
  const has = (tags: string | RegExp, most: number): boolean => source.split(tags, most + 1).length > most;
  if (has("<", MAX_LEVELS) || has(INDENTED_TAG, MAX_INDENTED_LEVELS)) textOf(source);
}
