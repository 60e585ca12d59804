/**
 * The form in which names are compared: NFKC, case-folded, trimmed. Lower, upper and lower case again, so that letters
 * with several forms (ẞ, ß and ss; ς and σ) are equal.
 */
export function foldName(name: string): string {
  return name.normalize("NFKC").trim().toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ").normalize("NFKC");
}
