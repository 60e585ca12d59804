/** A placeholder of a template: the contract's pattern of names in two braces. */
const PLACEHOLDER = /(\{\{[A-Za-z_][A-Za-z0-9_.-]{0,63}\}\})/u;

/** A text cut at its placeholders, which stand at the odd places. */
export const pieces = (text: string): string[] => text.split(PLACEHOLDER);

/** Names of the placeholders of a text, each once, in order. */
export const namesIn = (text: string): string[] => [
  ...new Set(
    pieces(text)
      .filter((_piece, at) => at % 2 === 1)
      .map((piece) => piece.slice(2, -2)),
  ),
];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Fills the placeholders that have a value, for a preview; the service fills documents by stricter rules. */
export function filled(text: string, valueOf: (name: string) => string | undefined): string {
  return pieces(text)
    .map((piece, at) => {
      const value = at % 2 === 1 ? valueOf(piece.slice(2, -2)) : undefined;
      return value === undefined ? piece : value.replaceAll(/[&<>"']/gu, (character) => ENTITIES[character] ?? "");
    })
    .join("");
}
