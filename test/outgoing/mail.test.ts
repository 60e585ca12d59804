import { afterEach, describe, expect, test } from "vitest";
import { escapeHtml } from "../../src/platform/html.ts";
import { layOutMail } from "../../src/platform/outgoing/layout.ts";
import { createMailer } from "../../src/platform/outgoing/mail.ts";
import { RefusedMailError } from "../../src/platform/outgoing/mailbox.ts";
import { rawPeer } from "./peers.ts";
import { startSmtp } from "./smtp.ts";
import type { SmtpServer } from "./smtp.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function smtp(): Promise<SmtpServer> {
  const server = await startSmtp();
  cleanups.push(() => server.close());
  return server;
}

function mailer(port: number, timeoutMs?: number) {
  const made = createMailer({
    smtpUrl: `smtp://127.0.0.1:${port}`,
    from: "Atrium <no-reply@atrium.test>",
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  cleanups.push(() => made.close());
  return made;
}

describe("Mail", () => {
  test("a mail goes to one recipient with a text and an HTML part", async () => {
    const { port, heard } = await smtp();
    await mailer(port).send({
      to: "jo@acme.test",
      subject: "Your link for Größe",
      text: "plain form",
      html: "<p>html form</p>",
    });
    expect(heard.from).toEqual(["MAIL FROM:<no-reply@atrium.test>"]);
    expect(heard.to).toEqual(["RCPT TO:<jo@acme.test>"]);
    expect(heard.messages[0]).toMatch(/^From: Atrium <no-reply@atrium\.test>\r$/m);
    expect(heard.messages[0]).toMatch(/^To: jo@acme\.test\r$/m);
    expect(heard.messages[0]).toMatch(/^Auto-Submitted: auto-generated\r$/m);
    expect(heard.messages[0]).toContain("multipart/alternative");
    expect(heard.messages[0]).toContain("plain form");
    expect(heard.messages[0]).toContain("<p>html form</p>");
  });

  test("nothing in subject or recipient becomes a header, a command or a second recipient", async () => {
    const { port, heard } = await smtp();
    const one = mailer(port);
    const evil = "x\r\nBcc: evil@evil.test\r\n\r\nbody";
    await one.send({ to: "jo@acme.test", subject: evil, text: "t", html: "h" });
    for (const to of [
      "jo@acme.test\r\nRCPT TO:<evil@evil.test>",
      "jo@acme.test, evil@evil.test",
      "jo@acme.test>\r\nDATA",
    ]) {
      await expect(one.send({ to, subject: "s", text: "t", html: "h" }), to).rejects.toThrow(RefusedMailError);
    }
    for (const message of heard.messages) expect(message).not.toMatch(/^Bcc:/im);
    expect(heard.to).toEqual(["RCPT TO:<jo@acme.test>"]);
  });

  test("sending fails when the server refuses, is silent or absent, and with the reason of the signal", async () => {
    const { port } = await smtp();
    await expect(mailer(port).send({ to: "nobody@acme.test", subject: "s", text: "t", html: "h" })).rejects.toThrow(
      /550/,
    );
    const mute = await rawPeer(() => undefined);
    cleanups.push(() => mute.close());
    const mail = { to: "jo@acme.test", subject: "s", text: "t", html: "h" };
    await expect(mailer(mute.port, 100).send(mail)).rejects.toThrow();
    const reason = new Error("shutting down");
    await expect(mailer(mute.port).send(mail, AbortSignal.abort(reason))).rejects.toBe(reason);
    const stop = new AbortController();
    setTimeout(() => stop.abort(reason), 20);
    await expect(mailer(mute.port).send(mail, stop.signal)).rejects.toBe(reason);
  });
});

test.each([
  ["550", true],
  ["550_5.1.1", true],
  ["554_5.5.0", true],
  ["450_4.2.1", false],
  ["550_5.7.1", false],
  ["554_5.4.5", false],
])("a recipient refused with %s is refused for good: %s", async (code, isFinal) => {
  const { port } = await smtp();
  const sent = mailer(port).send({ to: `nobody+${code}@acme.test`, subject: "s", text: "t", html: "h" });
  const error = await sent.catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(Error);
  expect(error instanceof RefusedMailError).toBe(isFinal);
  if (isFinal) expect((error as Error).message).not.toContain("@");
});

describe("Layout", () => {
  const content = {
    title: "Sign in to <Acme>",
    paragraphs: ['Hello "Jo" & friends', "two\nlines"],
    action: { label: "Sign in", url: "https://atrium.test/verify?token=a&x='y'" },
    code: "123456",
    notes: ["Good for 15 minutes."],
    organization: "Acme <script>alert(1)</script>",
  };

  test("text and HTML have the same content, and HTML is escaped", () => {
    const { text, html } = layOutMail(content);
    for (const part of [
      "Sign in to <Acme>",
      'Hello "Jo" & friends',
      content.action.url,
      "123456",
      "Good for 15 minutes.",
      content.organization,
    ]) {
      expect(text).toContain(part);
      expect(html).toContain(escapeHtml(part));
    }
    expect(html).not.toContain("<script>");
    expect(html).toContain('href="https://atrium.test/verify?token=a&amp;x=&#39;y&#39;"');
    expect(html).toContain("two<br>lines");
    expect(html).not.toMatch(/<img|<link|url\(/);
  });

  test("an action links to http(s) URLs only", () => {
    expect(() => layOutMail({ ...content, action: { label: "x", url: "javascript:alert(1)" } })).toThrow(TypeError);
    expect(layOutMail({ title: "t", paragraphs: [], organization: "o" }).html).toContain("<h1");
  });
});
