/** Renders of one template by our filler or by mustache, as ENGINE says, the template compiled ahead in both. */
import { readFileSync } from "node:fs";
import mustache from "mustache";
import { compileHtml, fillHtml } from "../../../src/domains/templates/html/index.ts";

const source = readFileSync(process.env["TEMPLATE"] ?? "", "utf8");
const template = compileHtml(source);
const values = Object.fromEntries(template.names.map((name) => [name, `a value with <markup> & "quotes" of ${name}`]));
mustache.parse(source);
const render =
  process.env["ENGINE"] === "mustache"
    ? () => mustache.render(source, values)
    : () => fillHtml(template, (name) => values[name] ?? "", 5 << 20);

process.on("disconnect", () => process.exit(0));
process.on("message", ({ seconds }: { seconds: number }) => {
  const started = performance.now();
  let completed = 0;
  let length = 0;
  for (; performance.now() - started < seconds * 1_000; completed++) length = render().length;
  if (length < source.length) throw new Error("the document is too short");
  process.send?.({ result: { value: completed / ((performance.now() - started) / 1_000) } });
});
process.send?.({ ready: {} });
