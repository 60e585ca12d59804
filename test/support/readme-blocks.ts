import { readFileSync } from "node:fs";

/** The shell commands of a section of the README, in their order. */
export function shellOf(section: string): string {
  const text = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const begun = text.split(`\n## ${section}\n`)[1];
  if (begun === undefined) throw new Error(`the README has no section ${section}`);
  const [whole = ""] = begun.split("\n## ");
  return [...whole.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, commands]) => commands).join("\n");
}
