import type { Clock } from "../clock.ts";
import { dateOf } from "../clock.ts";
import type { Database } from "../db/types.ts";

/** A mail to one person. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
}

/** A mail with what is the same over all attempts, by which a mailbox recognizes one that arrives twice. */
export interface IdentifiedMail extends Mail {
  /** Left side of its Message-ID. */
  id?: string | undefined;
}

/** A mail that no later attempt can send: its recipient does not exist, or is no mailbox. */
export class RefusedMailError extends Error {
  /** SMTP reply code; undefined when no server was asked. */
  readonly replyCode: number | undefined;

  constructor(message: string, replyCode?: number, cause?: unknown) {
    super(message, { cause });
    this.replyCode = replyCode;
  }
}

/** Destination of mails: an SMTP server, or the mailbox of the development profile. */
export interface MailSink {
  /**
   * Resolves when the mail is accepted; rejects when a later attempt may succeed.
   * @throws {RefusedMailError} when none can
   */
  send(mail: IdentifiedMail): Promise<void>;
}

/** Drops every mail: `SERVICE_MAIL=off`. */
export const noMail: MailSink = { send: () => Promise.resolve() };

/** A stored mail. */
export interface KeptMail extends Mail {
  at: Date;
}

/** Maximum number of stored mails; the oldest are deleted first. */
const MAX_STORED = 500;

/** A destination that keeps its mails. */
export interface Mailbox extends MailSink {
  /** Newest first. */
  list(): Promise<KeptMail[]>;
}

/** Creates the mailbox of the development profile, which stores mails in the database, shared by all instances. */
export function createMailbox(database: Database, clock: Clock): Mailbox {
  return {
    send: (mail) =>
      database.transaction(async (tx) => {
        await tx.query(
          "insert into development_mails (recipient, subject, text, html, at) values ($1, $2, $3, $4, $5)",
          [mail.to, mail.subject, mail.text, mail.html, dateOf(clock)],
        );
        await tx.query("delete from development_mails where id <= (select max(id) from development_mails) - $1", [
          MAX_STORED,
        ]);
      }),
    list: () =>
      database.transaction((tx) =>
        tx.query<KeptMail>(
          'select recipient as "to", subject, text, html, at from development_mails order by id desc limit $1',
          [MAX_STORED],
        ),
      ),
  };
}
