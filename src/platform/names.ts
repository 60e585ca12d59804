/**
 * The form in which names are compared: NFKC, case-folded, trimmed. Lower, upper and lower case again, so that letters
 * with several forms (ẞ, ß and ss; ς and σ) are equal.
 */
export function foldName(name: string): string {
  return name.normalize("NFKC").trim().toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ").normalize("NFKC");
}

/**
 * Whether a name has no character that can be seen: it is empty, or all white space, controls, formats, and the letters
 * and symbols that fonts draw as nothing.
 */
export function isBlank(name: string): boolean {
  return /^[\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u.test(name);
}

/** A person's name as it is stored: without spaces around it, and empty where nothing of it can be seen. */
export const personName = (text: string): string => (isBlank(text) ? "" : text.trim());

/**
 * Given and family name of somebody whose name is known as a whole alone: its first word, and the rest. Both together
 * are the name again, in whichever order it is written. An address in place of a name is none.
 */
export function splitPersonName(name: string): [first: string, last: string] {
  const [first = "", ...rest] = name.includes("@") ? [] : personName(name).split(/\s+/u);
  return [first, rest.join(" ")];
}

/** The first 100 characters of a name, none of them halved; providers and directories give names of any length. */
export const shortPersonName = (text: string): string => [...text].slice(0, 100).join("");

/** Whether a name has characters that nobody sees: controls, formats, and separators of lines and paragraphs. */
export function hasControlCharacters(name: string): boolean {
  return /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name);
}
