const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML content and for attributes in either quotes. */
export function escapeHtml(text: string): string {
  return /[&<>"']/u.test(text) ? text.replaceAll(/[&<>"']/gu, (character) => ESCAPES[character] ?? "") : text;
}
