import { escapeHtml } from "../../platform/html.ts";

/** The body of a template that has none: its name, and its variables as a list. */
export function defaultLayout(name: string, variables: readonly string[]): string {
  // Braces in the name are text.
  const title = escapeHtml(name).replaceAll("{", "&#123;");
  const rows = variables.map((variable) => `      <dt>${variable}</dt>\n      <dd>{{${variable}}}</dd>\n`).join("");
  const list = rows === "" ? "" : `    <dl>\n${rows}    </dl>\n`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <style>
      body { margin: 2rem auto; max-width: 40rem; padding: 0 1rem; color: #1a1d21;
        font: 16px/1.5 system-ui, sans-serif; }
      h1 { font-size: 1.5rem; line-height: 1.25; }
      dt { font-weight: 600; }
      dd { margin: 0 0 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
    </style>
  </head>
  <body>
    <h1>${title}</h1>
${list}  </body>
</html>
`;
}
