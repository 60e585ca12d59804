import { templateErrors } from "./errors.ts";
import { compileHtml, TooManyElements, UnsafePlaceholder } from "./html/index.ts";
import type { CompiledTemplate } from "./html/index.ts";

/**
 * Compiles the body of a template.
 * @throws {invalid_template} when a value could not be escaped safely, or for too many elements
 */
export function compileBody(body: string): CompiledTemplate {
  try {
    return compileHtml(body);
  } catch (error) {
    if (!(error instanceof UnsafePlaceholder || error instanceof TooManyElements)) throw error;
    throw templateErrors.invalidTemplate({ message: error.message });
  }
}
