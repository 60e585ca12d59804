/** A placeholder in the source of a template. */
export interface Placeholder {
  name: string;
  /** Offsets in the source, the braces included. */
  start: number;
  end: number;
}

/** The name of a placeholder or variable (decisions 10.10). */
export const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/u;

/** Every `{{name}}` of a text, in order. Braces around anything else are text. */
export function placeholdersIn(source: string): Placeholder[] {
  const found: Placeholder[] = [];
  for (const match of source.matchAll(/\{\{([A-Za-z_][A-Za-z0-9_.-]{0,63})\}\}/gu)) {
    const [whole, name = ""] = match;
    found.push({ name, start: match.index, end: match.index + whole.length });
  }
  return found;
}

/** A text cut at its placeholders: texts and names in turn, beginning and ending with a text. */
export interface Pieces {
  /** One more than there are names. */
  texts: readonly string[];
  names: readonly string[];
}

/** Cuts a text at its placeholders. */
export function cut(source: string): Pieces {
  const [texts, names]: [string[], string[]] = [[], []];
  let at = 0;
  for (const { name, start, end } of placeholdersIn(source)) {
    texts.push(source.slice(at, start));
    names.push(name);
    at = end;
  }
  texts.push(source.slice(at));
  return { texts, names };
}
