/**
 * The form in which names are compared: NFKC, case folded, outer white space removed.
 * Lower, upper and lower case again, so that letters with several forms (ẞ, ß and ss; ς and σ) meet.
 */
export function foldName(name: string): string {
  return name.normalize("NFKC").trim().toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ").normalize("NFKC");
}
