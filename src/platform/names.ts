/**
 * The form in which names are compared: NFKC, case folded, outer white space removed.
 * Upper case first, so that letters with several lower forms (ß and ss, ς and σ) meet.
 */
export function foldName(name: string): string {
  return name.normalize("NFKC").trim().toUpperCase().toLowerCase().replaceAll("ς", "σ").normalize("NFKC");
}
