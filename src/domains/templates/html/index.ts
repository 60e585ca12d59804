export { compileHtml, UnsafePlaceholder } from "./compile.ts";
export type { CompiledTemplate } from "./compile.ts";
export { fillHtml, fillText, TooLarge } from "./fill.ts";
export { InvalidBody } from "./invalid-body.ts";
export { cut, NAME } from "./placeholders.ts";
export type { Pieces } from "./placeholders.ts";
