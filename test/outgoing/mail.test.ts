import { afterEach, describe, expect, test } from "vitest";
import { escapeHtml } from "../../src/platform/html.ts";
import { layOutMail } from "../../src/platform/outgoing/layout.ts";
import { createMailer } from "../../src/platform/outgoing/mail.ts";
import { rawPeer } from "./peers.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** What a small SMTP server received. */
interface Transcript {
  from: string[];
  to: string[];
  messages: string[];
}

async function smtp(): Promise<{ port: number; heard: Transcript }> {
  const heard: Transcript = { from: [], to: [], messages: [] };
  const peer = await rawPeer((socket) => {
    let buffer = "";
    let inData = false;
    socket.write("220 test ESMTP\r\n");
    socket.on("data", (chunk: Buffer) => {
      buffer += chunk.toString();
      for (;;) {
        const end = buffer.indexOf(inData ? "\r\n.\r\n" : "\r\n");
        if (end < 0) return;
        const text = buffer.slice(0, end);
        buffer = buffer.slice(end + (inData ? 5 : 2));
        if (inData) {
          heard.messages.push(text);
          inData = false;
          socket.write("250 taken\r\n");
        } else if (/^MAIL FROM:/i.test(text)) {
          heard.from.push(text);
          socket.write("250 ok\r\n");
        } else if (/^RCPT TO:/i.test(text)) {
          heard.to.push(text);
          socket.write(text.includes("nobody") ? "550 no such mailbox\r\n" : "250 ok\r\n");
        } else if (/^DATA/i.test(text)) {
          inData = true;
          socket.write("354 go on\r\n");
        } else socket.write(/^EHLO/i.test(text) ? "250-test\r\n250 8BITMIME\r\n" : "250 ok\r\n");
      }
    });
  });
  cleanups.push(() => peer.close());
  return { port: peer.port, heard };
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
      await expect(one.send({ to, subject: "s", text: "t", html: "h" }), to).rejects.toThrow(TypeError);
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
