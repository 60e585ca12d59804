/**
 * Combining marks in a row that normalization orders at once: no text of any language has more (UAX #15 §13). The
 * halfwidth voiced sound marks are letters, which NFKC turns into such marks.
 */
const LONGEST_RUN = /[\p{M}\uFF9E\uFF9F]{30}/gu;
/** COMBINING GRAPHEME JOINER: invisible; it ends a run of marks. */
const BREAK = "\u034F";

/**
 * Normalizes a text of any length in linear time, by the Stream-Safe Text Format (UAX #15 §13): longer runs of
 * combining marks are broken. Ordering the marks of one run takes quadratic time, minutes for a body of 1 MiB.
 */
export function normalizeLong(text: string, form: "NFC" | "NFKC"): string {
  return text.replaceAll(LONGEST_RUN, `$&${BREAK}`).normalize(form);
}
