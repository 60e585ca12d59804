import { createTransport } from "nodemailer";
import { parseEmail } from "../email.ts";
import { RefusedMailError } from "./mailbox.ts";
import type { IdentifiedMail, MailSink } from "./mailbox.ts";

export interface MailerOptions {
  /** `smtp://[user:password@]host[:port]` or `smtps://…`, with nodemailer's options as query. */
  smtpUrl: string;
  /** Sender: an address, or `Name <address>`. */
  from: string;
  /** Time limit for connecting and for the greeting, milliseconds. Default 10,000. */
  timeoutMs?: number;
}

/** Sends mails over SMTP. */
export interface Mailer extends MailSink {
  /**
   * Resolves when the server has accepted the mail. Rejects when a later attempt may succeed, or with the signal's
   * reason.
   * @throws {RefusedMailError} when the recipient is not a single mailbox address, or the server refuses it for good
   */
  send(mail: IdentifiedMail, signal?: AbortSignal): Promise<void>;
  /** Closes idle connections; a mail in flight is still sent. */
  close(): void;
}

/**
 * Time limit for each reply after the greeting, milliseconds. A server that checks a mail before it accepts it may take
 * long (RFC 5321 §4.5.3.2.6); whoever hangs up meanwhile sends the mail again and again, and each one arrives.
 */
const REPLY_MS = 60_000;

/** Creates a mailer with up to five persistent connections, opened by the first mails. */
export function createMailer({ smtpUrl, from, timeoutMs = 10_000 }: MailerOptions): Mailer {
  const transport = createTransport({
    pool: true,
    url: smtpUrl,
    maxConnections: 5,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: REPLY_MS,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ id, to, subject, text, html }, signal) {
      signal?.throwIfAborted();
      // nodemailer would accept lists, names and comments.
      const address = parseEmail(to)?.address;
      if (address === undefined) throw new RefusedMailError("the recipient is not one mailbox address");
      const sender = senderAddress(from);
      const sent = transport
        .sendMail({
          from,
          to: { name: "", address },
          envelope: { from: sender, to: address },
          ...(id === undefined ? {} : { messageId: `<${id}@${sender.slice(sender.lastIndexOf("@") + 1)}>` }),
          subject: oneLine(subject),
          text,
          html,
          headers: { "auto-submitted": "auto-generated" },
        })
        .catch((error: unknown) => {
          throw asRefusal(error) ?? error;
        });
      await (signal === undefined ? sent : Promise.race([sent, rejectOnAbort(signal)]));
    },
    close: () => transport.close(),
  };
}

/**
 * Returns the refusal when the server has refused this recipient or this mail for good: 550 to 554 to RCPT or DATA.
 * Undefined for the enhanced codes of system, route and policy (RFC 3463 §3), which concern other mails too and end
 * when somebody mends the account or the relay.
 */
function asRefusal(error: unknown): RefusedMailError | undefined {
  const { command, responseCode = 0, response = "" } = error as SmtpError;
  const isFinal = responseCode >= 550 && responseCode <= 554 && (command === "RCPT TO" || command === "DATA");
  if (!isFinal || /^\d{3}[ -]5\.[347]\./u.test(response)) return undefined;
  return new RefusedMailError(`the server refuses the mail with ${responseCode}`, responseCode, error);
}

/** What nodemailer says about a reply of the server. */
interface SmtpError {
  command?: string;
  responseCode?: number;
  response?: string;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}

function senderAddress(from: string): string {
  return /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from.trim();
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener(
      "abort",
      () => reject(signal.reason instanceof Error ? signal.reason : new Error("sending was given up")),
      { once: true },
    );
  });
}
