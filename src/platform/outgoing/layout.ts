import { escapeHtml } from "../html.ts";

/** Content of a mail; every member is plain text. */
export interface MailContent {
  /** Headline. */
  title: string;
  /** Paragraphs before the action. */
  paragraphs: readonly string[];
  /** Link of the button. */
  action?: { label: string; url: string } | undefined;
  /** A code to enter, shown large. */
  code?: string | undefined;
  /** Small print after the action: validity, and what to do when the recipient did not request it. */
  notes?: readonly string[] | undefined;
  /** Last section: lets a recipient object who has nothing to do with the account. */
  objection?: { text: string; label: string; url: string; note: string } | undefined;
  /** On whose behalf the mail is sent. */
  organization: string;
}

/** Renders a mail as plain text and as a self-contained HTML page. @throws {TypeError} when a URL is not http(s) */
export function layOutMail(content: MailContent): { text: string; html: string } {
  for (const { url } of [content.action, content.objection].filter((one) => one !== undefined)) {
    if (!/^https?:\/\//i.test(url)) throw new TypeError("a mail's action is an http(s) URL");
  }
  return { text: asText(content), html: asHtml(content) };
}

function asText({ title, paragraphs, action, code, notes = [], objection, organization }: MailContent): string {
  const blocks = [title, ...paragraphs];
  if (code !== undefined) blocks.push(`    ${code}`);
  if (action !== undefined) blocks.push(`${action.label}:\n${action.url}`);
  blocks.push(...notes);
  if (objection !== undefined) blocks.push(objection.text, `${objection.label}:\n${objection.url}`, objection.note);
  blocks.push(`-- \n${organization}`);
  return `${blocks.join("\n\n")}\n`;
}

const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

function asHtml({ title, paragraphs, action, code, notes = [], objection, organization }: MailContent): string {
  const paragraph = (text: string): string =>
    `<p style="margin:0 0 16px;font-size:16px;line-height:1.55;color:#1d2433">${lines(text)}</p>`;
  const note = (text: string): string =>
    `<p style="margin:0 0 8px;font-size:13px;line-height:1.5;color:#5b6578">${lines(text)}</p>`;
  const rows = [
    `<h1 style="margin:0 0 20px;font-size:22px;line-height:1.3;color:#1d2433">${escapeHtml(title)}</h1>`,
    ...paragraphs.map(paragraph),
    ...(code === undefined ? [] : [codeBlock(code)]),
    ...(action === undefined ? [] : [button(action)]),
    ...notes.map(note),
    ...(objection === undefined ? [] : [objectionBlock(objection)]),
  ];
  return `<!doctype html>
<html lang="en">
<head>${META}<title>${escapeHtml(title)}</title></head>
<body style="margin:0;padding:0;background:#f4f6f9;${font}">
${TABLE} style="background:#f4f6f9"><tr><td align="center" style="padding:32px 16px">
${TABLE} style="${CARD}"><tr><td style="padding:32px">
<p style="margin:0 0 24px;font-size:14px;font-weight:600;color:#5b6578">${escapeHtml(organization)}</p>
${rows.join("\n")}
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}

const META = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">';
const TABLE = '<table role="presentation" width="100%" cellpadding="0" cellspacing="0"';
const CARD = "max-width:560px;background:#ffffff;border:1px solid #dfe3ea;border-radius:12px";
const SMALL = "font-size:13px;line-height:1.5;color:#5b6578";
const BUTTON =
  "display:inline-block;padding:12px 22px;border-radius:8px;background:#3457d5;color:#ffffff;" +
  "font-size:16px;font-weight:600;text-decoration:none";
const CODE =
  "margin:8px 0 24px;padding:16px;border-radius:8px;background:#f4f6f9;text-align:center;" +
  "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:30px;letter-spacing:6px;color:#1d2433";

function button({ label, url }: { label: string; url: string }): string {
  const href = escapeHtml(url);
  const address = `<a href="${href}" style="color:#3457d5;word-break:break-all">${href}</a>`;
  return `<p style="margin:8px 0 24px"><a href="${href}" style="${BUTTON}">${escapeHtml(label)}</a></p>
<p style="margin:0 0 16px;${SMALL}">If the button does not work, open this address:<br>${address}</p>`;
}

function objectionBlock({ text, label, url, note }: NonNullable<MailContent["objection"]>): string {
  const link = `<a href="${escapeHtml(url)}" style="color:#3457d5">${escapeHtml(label)}</a>`;
  const style = `margin:24px 0 0;padding:16px 0 0;border-top:1px solid #dfe3ea;${SMALL}`;
  return `<p style="${style}">${lines(text)}<br>${link}<br>${lines(note)}</p>`;
}

function codeBlock(code: string): string {
  return `<p style="${CODE}">${escapeHtml(code)}</p>`;
}

function lines(text: string): string {
  return escapeHtml(text).replaceAll("\n", "<br>");
}
