import { defaultTreeAdapter, html, Parser } from "parse5";
import type { DefaultTreeAdapterMap, Token } from "parse5";
import { ruleOf } from "./attributes.ts";
import type { AttributeRule } from "./attributes.ts";
import { InvalidBody } from "./invalid-body.ts";

/** Where a placeholder may stand: a range of the source, and how values are treated there. */
export interface Place {
  start: number;
  end: number;
  rule: Exclude<AttributeRule, "refused">;
  /** The value of the attribute with character references decoded; undefined in text. */
  decoded: string | undefined;
}

/** Elements whose text is not markup, or runs: their text takes no placeholder, in whatever namespace. */
const OPAQUE: ReadonlySet<string> = new Set([
  "script",
  "style",
  "xmp",
  "iframe",
  "noembed",
  "noframes",
  "noscript",
  "plaintext",
]);

/**
 * Maximum number of elements of a document. The parser opens formatting elements that are not closed again in every
 * paragraph (WHATWG HTML §13.2.4.3), so that a short source may have millions.
 */
const MAX_ELEMENTS = 100_000;

/** The source has more than {@link MAX_ELEMENTS} elements. */
class TooManyElements extends InvalidBody {
  constructor() {
    super(
      "The body has more than 100,000 elements, those included that browsers repeat in every paragraph because they " +
        "are not closed; close elements such as b and i in the paragraph that opens them.",
    );
    this.name = "TooManyElements";
  }
}

function countingAdapter(): typeof defaultTreeAdapter {
  let count = 0;
  return {
    ...defaultTreeAdapter,
    createElement(...element) {
      if (++count > MAX_ELEMENTS) throw new TooManyElements();
      return defaultTreeAdapter.createElement(...element);
    },
  };
}

/** Records texts and quoted attribute values as the HTML standard reads them (WHATWG HTML §13.2). */
class PlaceScan extends Parser<DefaultTreeAdapterMap> {
  readonly places: Place[] = [];
  readonly #source: string;
  readonly #hasCdata: boolean;

  constructor(source: string) {
    super({ sourceCodeLocationInfo: true, scriptingEnabled: true, treeAdapter: countingAdapter() });
    this.#source = source;
    this.#hasCdata = source.includes("<![CDATA[");
  }

  override onCharacter(token: Token.CharacterToken): void {
    if (token.location !== null && this.#isPlainText()) {
      const { startOffset: start, endOffset: end } = token.location;
      this.places.push({ start, end, rule: "text", decoded: undefined });
    }
    super.onCharacter(token);
  }

  override onStartTag(token: Token.TagToken): void {
    // A redirect, a cookie, a policy: `content` of these is no text.
    const redirects = token.tagName === "meta" && token.attrs.some(({ name }) => name === "http-equiv");
    for (const { name, value } of token.attrs) {
      const rule = ruleOf(token.tagName, name, redirects);
      const location = token.location?.attrs?.[name];
      if (rule === "refused" || location === undefined) continue;
      const range = quotedValue(this.#source, location.startOffset, location.endOffset);
      if (range !== undefined) this.places.push({ ...range, rule, decoded: value });
    }
    super.onStartTag(token);
  }

  #isPlainText(): boolean {
    const { current, currentTagId } = this.openElements;
    if (current === undefined || currentTagId === -1 || !("tagName" in current)) return true;
    // In foreign content the text may be a CDATA section, where nothing is decoded.
    if (this.#hasCdata && current.namespaceURI !== html.NS.HTML) return false;
    return !OPAQUE.has(current.tagName.toLowerCase());
  }
}

/** The range between the quotes of an attribute's value; undefined for a value without quotes, or without a value. */
function quotedValue(source: string, from: number, to: number): { start: number; end: number } | undefined {
  // The first character of a name may be "=".
  const equals = source.indexOf("=", from + 1);
  if (equals === -1 || equals >= to) return undefined;
  let start = equals + 1;
  while (/[\t\n\f\r ]/u.test(source[start] ?? "")) start++;
  const quote = source[start];
  if (quote !== '"' && quote !== "'") return undefined;
  const end = source.indexOf(quote, start + 1);
  return end === -1 ? undefined : { start: start + 1, end };
}

/** Every range of a document in which placeholders may stand. @throws InvalidBody for too many elements */
export function scanPlaces(source: string): Place[] {
  const scan = new PlaceScan(source);
  scan.tokenizer.write(source, true);
  return scan.places;
}
