import type { Clock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import type { Sealer } from "../platform/crypto/sealed.ts";
import type { Database } from "../platform/db/index.ts";
import type { Log } from "../platform/log.ts";
import { createMailbox, noMail } from "../platform/outgoing/mailbox.ts";
import type { Mailbox } from "../platform/outgoing/mailbox.ts";
import { createMailTopics } from "../platform/outgoing/mail-outbox.ts";
import type { MailTopics } from "../platform/outgoing/mail-outbox.ts";

/** Sources of {@link composeMails}. */
export interface MailParts {
  config: Config;
  database: Database;
  clock: Clock;
  sealer: Sealer;
  log: Log;
}

/** The way of mails out of a process. */
export interface Mails extends MailTopics {
  /** The development mailbox; undefined where mail goes out over SMTP or not at all. */
  mailbox: Mailbox | undefined;
  /** Closes the connections to the SMTP server. */
  close(): void;
}

/** Creates the way of mails out: to an SMTP server, to the mailbox of the development profile, or nowhere. */
export async function composeMails({ config, database, clock, sealer, log }: MailParts): Promise<Mails> {
  const { off, smtpUrl, from } = config.mail;
  const usesSmtp = !off && smtpUrl !== undefined;
  // Loaded only where it is used.
  const mailer = usesSmtp ? (await import("../platform/outgoing/mail.ts")).createMailer({ smtpUrl, from }) : undefined;
  // Mails of the mailbox carry live tokens: production never has one.
  const mailbox = off || usesSmtp || !config.development ? undefined : createMailbox(database, clock);
  return {
    ...createMailTopics({ sealer, sink: mailer ?? mailbox ?? noMail, log }),
    mailbox,
    close: () => mailer?.close(),
  };
}
