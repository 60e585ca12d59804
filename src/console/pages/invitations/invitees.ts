/** One line of what was pasted. */
export interface Invitee {
  line: string;
  /** Undefined: the line has no address. */
  email: string | undefined;
  /** Name of the role in the line; undefined: that of the form. */
  role: string | undefined;
}

const ADDRESS = /^[^\s@<>"]+@[^\s@<>"]+$/u;

/**
 * People in a text: one a line, or several addresses in a line. Lines of CSV may have the name of a role beside the
 * address. A heading is skipped, and so is an address that came before.
 */
export function inviteesIn(text: string, roles: readonly string[]): Invitee[] {
  const found: Invitee[] = [];
  const seen = new Set<string>();
  const lines = text.split(/\r?\n/u).map((line) => line.trim());
  for (const [at, line] of lines.entries()) {
    if (line === "") continue;
    const cells = line.split(/[,;\t]/u).map((cell) => cell.trim().replaceAll(/^"|"$/gu, ""));
    const emails = cells.flatMap((cell) => {
      const words = cell.split(/\s+/u).map((word) => word.replaceAll(/^<|>$/gu, ""));
      return words.filter((word) => ADDRESS.test(word));
    });
    if (emails.length === 0) {
      if (at > 0 || !cells.some((cell) => /^e-?mail/iu.test(cell)))
        found.push({ line, email: undefined, role: undefined });
      continue;
    }
    const role = roles.find((name) => cells.some((cell) => cell.toLowerCase() === name.toLowerCase()));
    for (const email of emails) {
      if (seen.has(email.toLowerCase())) continue;
      seen.add(email.toLowerCase());
      found.push({ line, email, role });
    }
  }
  return found;
}
