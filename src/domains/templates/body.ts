import { templateErrors } from "./errors.ts";
import { compileHtml, InvalidBody } from "./html/index.ts";
import type { CompiledTemplate, Pieces } from "./html/index.ts";
import { checkLevels, textOf } from "./text.ts";

/** @throws {invalid_template} for a body that `read` refuses */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidBody)) throw error;
    throw templateErrors.invalidTemplate({ message: error.message });
  }
}

/**
 * Compiles the body of a template.
 * @throws {invalid_template} when a value could not be escaped safely, or for too many elements
 */
export const compileBody = (body: string): CompiledTemplate => reading(() => compileHtml(body));

/**
 * The body of a template as plain text.
 * @throws {invalid_template} when its elements nest too deeply
 */
export const bodyAsText = (body: string): Pieces => reading(() => textOf(body));

/** @throws {invalid_template} when the elements of a body nest too deeply for {@link bodyAsText} */
export const checkBody = (body: string): void => reading(() => checkLevels(body));
