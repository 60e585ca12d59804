import { readFileSync } from "node:fs";

/** Text of a document of the repository, such as `docs/tour-webhooks.md`. */
export function documentText(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
}

/**
 * The shell commands of a document, or of one of its `##` sections, in their order.
 * @throws Error when the document has no such section, or no commands.
 */
export function shellOf(file: string, section?: string): string {
  const text = documentText(file);
  const part = section === undefined ? text : text.split(`\n## ${section}\n`)[1]?.split("\n## ")[0];
  if (part === undefined) throw new Error(`${file} has no section "${section ?? ""}"`);
  const blocks = [...part.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, commands]) => commands);
  if (blocks.length === 0) throw new Error(`${file} has no shell commands to run`);
  return blocks.join("\n");
}
