/**
 * The form in which names are compared: NFKC, case-folded, trimmed. Lower, upper and lower case again, so that letters
 * with several forms (ẞ, ß and ss; ς and σ) are equal.
 */
export function foldName(name: string): string {
  return name.normalize("NFKC").trim().toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ").normalize("NFKC");
}

/** Whether a name has characters that nobody sees: controls, formats, and separators of lines and paragraphs. */
export function hasControlCharacters(name: string): boolean {
  return /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name);
}
