import { rawPeer } from "./peers.ts";

/** What the server received. */
export interface Transcript {
  from: string[];
  to: string[];
  messages: string[];
}

/** A small SMTP server. */
export interface SmtpServer {
  port: number;
  heard: Transcript;
  close(): Promise<void>;
}

/**
 * Starts a server that refuses `nobody@`, with 550 or with the code in `nobody+450_4.2.1@`, never answers for `silent@`
 * with or without a tag, and accepts the rest: of `slow@` 12 s after it has the mail, and of `lost@` the first time
 * without an answer, as a server that ends.
 */
export async function startSmtp(): Promise<SmtpServer> {
  const heard: Transcript = { from: [], to: [], messages: [] };
  const peer = await rawPeer((socket) => {
    let buffer = "";
    let inData = false;
    let to = "";
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
          if (to.includes("<lost@") && heard.to.filter((line) => line === to).length === 1) return socket.destroy();
          setTimeout(() => socket.write("250 taken\r\n"), to.includes("<slow@") ? 12_000 : 0);
        } else if (/^MAIL FROM:/i.test(text)) {
          heard.from.push(text);
          socket.write("250 ok\r\n");
        } else if (/^RCPT TO:/i.test(text)) {
          heard.to.push(text);
          to = text;
          if (/<silent[+@]/.test(text)) continue;
          const [, code] = /nobody\+?(\S*)@/.exec(text) ?? [];
          socket.write(code === undefined ? "250 ok\r\n" : `${code.replace("_", " ") || "550"} no such mailbox\r\n`);
        } else if (/^DATA/i.test(text)) {
          inData = true;
          socket.write("354 go on\r\n");
        } else socket.write(/^EHLO/i.test(text) ? "250-test\r\n250 8BITMIME\r\n" : "250 ok\r\n");
      }
    });
  });
  return { port: peer.port, heard, close: () => peer.close() };
}
