/** Mail domains in a text, separated by lines, spaces or commas; `@` before one is left out, each comes once. */
export const domainsIn = (text: string): string[] => [
  ...new Set(
    text
      .split(/[\s,;]+/u)
      .map((word) => word.replace(/^@/u, "").toLowerCase())
      .filter(Boolean),
  ),
];
