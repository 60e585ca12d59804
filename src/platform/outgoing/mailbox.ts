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

/** Whoever takes mails: an SMTP server, or the mailbox of the development profile. */
export interface MailSink {
  /** Resolves when the mail is taken; rejects when a later try makes sense. */
  send(mail: Mail): Promise<void>;
}

/** Drops every mail: `SERVICE_MAIL=off`. */
export const noMail: MailSink = { send: () => Promise.resolve() };

/** A mail as the mailbox keeps it. */
export interface KeptMail extends Mail {
  at: Date;
}

/** Mails the mailbox keeps at most; the oldest go first. */
const KEPT = 500;

/** The mailbox of the development profile: mails are kept in the database, so every instance shows the same. */
export function createMailbox(database: Database, clock: Clock): MailSink & { list(): Promise<KeptMail[]> } {
  return {
    send: (mail) =>
      database.transaction(async (tx) => {
        await tx.query(
          "insert into development_mails (recipient, subject, text, html, at) values ($1, $2, $3, $4, $5)",
          [mail.to, mail.subject, mail.text, mail.html, dateOf(clock)],
        );
        await tx.query("delete from development_mails where id <= (select max(id) from development_mails) - $1", [
          KEPT,
        ]);
      }),
    /** Newest first. */
    list: () =>
      database.transaction((tx) =>
        tx.query<KeptMail>(
          'select recipient as "to", subject, text, html, at from development_mails order by id desc limit $1',
          [KEPT],
        ),
      ),
  };
}
