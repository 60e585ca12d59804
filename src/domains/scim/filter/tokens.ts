/** A piece of a filter. */
export type Token =
  | { readonly kind: "(" | ")" | "[" | "]" | "." | "end"; readonly at: number }
  | { readonly kind: "word"; readonly text: string; readonly at: number }
  | { readonly kind: "value"; readonly value: string | number; readonly at: number };

/** A filter that does not follow the grammar. */
export class FilterSyntaxError extends Error {}

const spaces = /[ \t]*/y;
const word = /[A-Za-z$][A-Za-z0-9_.:$-]*/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/**
 * Splits a filter.
 * @throws {FilterSyntaxError} at a character that begins no token
 */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; ; ) {
    at += match(spaces, text, at)?.length ?? 0;
    const char = text[at];
    if (char === undefined) return [...tokens, { kind: "end", at }];
    if (char === "(" || char === ")" || char === "[" || char === "]" || char === ".") {
      tokens.push({ kind: char, at });
      at += 1;
      continue;
    }
    const read = match(word, text, at) ?? match(string, text, at) ?? match(number, text, at);
    if (read === undefined)
      throw new FilterSyntaxError(
        char === '"' ? `the string at character ${at + 1} has no end` : `character ${at + 1} is not expected`,
      );
    tokens.push(
      /^[A-Za-z$]/u.test(read)
        ? { kind: "word", text: read, at }
        : { kind: "value", value: JSON.parse(read) as string | number, at },
    );
    at += read.length;
    const next = text[at];
    if (next !== undefined && !" \t()[].".includes(next))
      throw new FilterSyntaxError(`character ${at + 1} is not expected`);
  }
}
