import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { emailKeyOf } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { layOutMail } from "../../platform/outgoing/layout.ts";
import type { MailContent } from "../../platform/outgoing/layout.ts";
import type { MailOutbox } from "../../platform/outgoing/mail-outbox.ts";
import type { Random } from "../../platform/random.ts";
import * as store from "./mail-store.ts";

/** Name of the sender of mails to people who belong to no organization. */
const SERVICE_NAME = "Atrium";
/** Lifetime of the link that ends an unconfirmed account. */
const DISOWN_MS = 7 * 24 * 60 * 60 * 1000;
/** `Retry-After` of routes that cannot mail, seconds: a restart with another configuration is needed. */
const WITHOUT_MAIL_RETRY_S = 300;

/** Subject and content of a mail, without the sender. */
export interface MailDraft extends Omit<MailContent, "organization" | "objection"> {
  subject: string;
}

/** A mail to one person. */
export interface PersonalMail {
  to: string;
  /** Name of the organization the mail concerns; the organization the recipient used last when absent. */
  organization?: string | undefined;
  /** One of many that an organization sends: it delays no mail that somebody waits for. */
  bulk?: boolean | undefined;
  /** Subject and content of the mail; `sender` is the name of that organization, or of the service. */
  write(sender: string): MailDraft;
}

/** Dependencies of mails to people. */
export interface MailsDeps {
  database: Pick<Database, "prepared">;
  mailOutbox: MailOutbox;
  clock: Clock;
  random: Pick<Random, "bytes">;
  config: {
    /** Public URL of the service, no trailing slash. */
    baseUrl: string;
    /** `SERVICE_MAIL=off`. */
    mailOff: boolean;
  };
}

/**
 * Mails to people, for every domain. Every mail names an organization (decisions 3.6), and a mail to an address that
 * was never confirmed carries a link that ends the account (decisions 2.3).
 */
export function createMails({ database, mailOutbox, clock, random, config }: MailsDeps) {
  return {
    /**
     * Queues a mail in the transaction of what it reports; without effect when mail is off. No delivery is attempted
     * after `validUntil`.
     */
    async send(tx: Tx, { to, organization, bulk, write }: PersonalMail, validUntil: Date): Promise<void> {
      if (config.mailOff) return;
      const { token, hash } = newOpaqueToken(random);
      const emailKey = emailKeyOf(to);
      const recipient = await store.addressMail(tx, {
        emailKey,
        hash,
        at: dateOf(clock),
        expiresAt: dateOf(clock, DISOWN_MS),
      });
      const sender = organization ?? recipient.lastOrganization ?? SERVICE_NAME;
      const { subject, ...content } = write(sender);
      const objection = recipient.unconfirmed ? disownLink(config.baseUrl, token) : undefined;
      const mail = { to, subject, ...layOutMail({ ...content, organization: sender, objection }) };
      await mailOutbox.enqueue(tx, mail, { validUntil, bulk });
    },

    /** Whether mail is sent at all. */
    isOn: !config.mailOff,

    /** @throws {unavailable} when mail is off, for routes that depend on a mail */
    demandMail(): void {
      if (config.mailOff)
        throw errors.unavailable({
          message: "This installation sends no mail (SERVICE_MAIL=off); use another way.",
          retryAfter: WITHOUT_MAIL_RETRY_S,
        });
    },

    /** The person whose account a disown token ends; undefined when it is unknown, used or expired. */
    disownedBy: (tx: Tx, hash: Buffer): Promise<store.Disowned | undefined> =>
      store.disownedBy(tx, hash, dateOf(clock)),
    /** Consumes a disown token, with every other one of the person; false when it is used or expired. */
    useDisownToken: (tx: Tx, hash: Buffer, userUuid: string): Promise<boolean> =>
      store.useDisownToken(tx, hash, userUuid, dateOf(clock)),
    /** Deletes some of the disown tokens that expired before a time; returns how many. */
    deleteExpired: (before: Date): Promise<number> => store.deleteDisownTokens(database, before),
  };
}

/** Mails to people. */
export type Mails = ReturnType<typeof createMails>;

function disownLink(baseUrl: string, token: string): MailContent["objection"] {
  return {
    text:
      "Nobody has confirmed this address yet. If the account with it is not yours, end it; " +
      "the link works once, for 7 days.",
    label: "End the account",
    url: `${baseUrl}/disown#token=${token}`,
    note: "The token in it can also be sent to POST /api/auth/email/disown.",
  };
}
