import { expect, it } from "vitest";
import { filesBelow, textOf } from "../shape/sources.ts";

const DOCUMENTS = [
  "clients",
  "publish-an-app",
  "receive-webhooks",
  "step-up",
  "tour-sessions",
  "tour-trust",
  "verify-tokens",
].map((name) => `docs/${name}.md`);

it.each(DOCUMENTS)(
  "every block of TypeScript, Python and Go in %s is cut from an example that the tests run",
  (document) => {
    const examples = filesBelow("examples", [".ts", ".py", ".go"]).map(textOf);
    const blocks = [...textOf(document).matchAll(/^```(?:ts|python|go)\n([^]*?)^```$/gmu)].map(
      ([, block = ""]) => block,
    );
    expect(blocks.length).toBeGreaterThan(0);
    expect(blocks.filter((block) => !examples.some((example) => example.includes(block)))).toEqual([]);
  },
);
