import { compileHtml, InvalidBody } from "./html/index.ts";
import type { CompiledTemplate, Pieces } from "./html/index.ts";
import { checkLevels, textOf } from "./text.ts";

/** What is read of the body of a template. */
export interface Readings {
  /** Names of its placeholders, each once, in order; refused where it could not be rendered as HTML or as text. */
  names: readonly string[];
  html: CompiledTemplate;
  text: Pieces;
}

/** A body to read. */
export interface ReadJob {
  as: keyof Readings;
  body: string;
}

/** What was read, or why the body is refused, in words for its author. */
export type ReadResult = { reading: Readings[keyof Readings] } | { refused: string };

const READERS: { [As in keyof Readings]: (body: string) => Readings[As] } = {
  names(body) {
    const { names } = compileHtml(body);
    checkLevels(body);
    return names;
  },
  html: compileHtml,
  text: textOf,
};

/** Reads a body. The longest take half a second. */
export function readBody({ as, body }: ReadJob): ReadResult {
  try {
    return { reading: READERS[as](body) };
  } catch (error) {
    if (!(error instanceof InvalidBody)) throw error;
    return { refused: error.message };
  }
}
