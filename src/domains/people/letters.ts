import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { layOutMail } from "../../platform/outgoing/layout.ts";
import type { MailContent } from "../../platform/outgoing/layout.ts";
import type { Post } from "../../platform/outgoing/post.ts";
import type { Random } from "../../platform/random.ts";
import * as store from "./letter-store.ts";

/** Name of the sender of mails to people who belong to no organization. */
const SERVICE_NAME = "Atrium";
/** How long the link that ends an unconfirmed account works. */
const DISOWN_MS = 7 * 24 * 60 * 60 * 1000;
/** `Retry-After` of routes that cannot mail, seconds: a restart with another configuration is needed. */
const WITHOUT_MAIL_RETRY_S = 300;

/** What a mail says, without the sender. */
export interface LetterContent extends Omit<MailContent, "organization" | "objection"> {
  subject: string;
}

/** A mail to one person. */
export interface Letter {
  to: string;
  /** Name of the organization the mail concerns. Absent: the organization the recipient used last. */
  organization?: string | undefined;
  /** Subject and content of the mail; `sender` is the name of that organization, or of the service. */
  write(sender: string): LetterContent;
}

/** What letters are made of. */
export interface LettersDeps {
  database: Pick<Database, "prepared">;
  post: Post;
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
 * The one way by which domains mail to people. Every mail names an organization (decisions 3.6), and a mail to an
 * address that was never confirmed carries a link that ends the account (decisions 2.3).
 */
export function createLetters({ database, post, clock, random, config }: LettersDeps) {
  return {
    /**
     * Queues a mail in the transaction of what it tells; without effect when mail is off. No try is made after
     * `validUntil`.
     */
    async send(tx: Tx, { to, organization, write }: Letter, validUntil: Date): Promise<void> {
      if (config.mailOff) return;
      const { token, hash } = newOpaqueToken(random);
      const emailKey = parseEmail(to)?.key ?? "";
      const recipient = await store.addressMail(tx, {
        emailKey,
        hash,
        at: dateOf(clock),
        expiresAt: dateOf(clock, DISOWN_MS),
      });
      const sender = organization ?? recipient.lastOrganization ?? SERVICE_NAME;
      const { subject, ...content } = write(sender);
      const objection = recipient.unconfirmed ? disowning(config.baseUrl, token) : undefined;
      await post.enqueue(
        tx,
        { to, subject, ...layOutMail({ ...content, organization: sender, objection }) },
        validUntil,
      );
    },

    /** Refuses what depends on a mail that would not be sent. Throws 503 `unavailable`. */
    demandMail(): void {
      if (config.mailOff)
        throw errors.unavailable({
          message: "This installation sends no mail (SERVICE_MAIL=off); use another way.",
          retryAfter: WITHOUT_MAIL_RETRY_S,
        });
    },

    /** The person whose account a disown token ends; undefined when it is unknown, used or expired. */
    disownedBy: (tx: Tx, hash: Buffer): Promise<string | undefined> => store.disownedBy(tx, hash, dateOf(clock)),
    /** Uses a disown token up, with every other one of the person. False when it is used or expired. */
    useDisownToken: (tx: Tx, hash: Buffer, userUuid: string): Promise<boolean> =>
      store.useDisownToken(tx, hash, userUuid, dateOf(clock)),
    /** Forgets some of the disown tokens that expired before a time; returns how many. */
    forget: (before: Date): Promise<number> => store.forgetDisownTokens(database, before),
  };
}

/** Mails to people. */
export type Letters = ReturnType<typeof createLetters>;

function disowning(baseUrl: string, token: string): MailContent["objection"] {
  return {
    text: "Nobody has confirmed this address yet. If the account with it is not yours, end it; the link works once, for 7 days.",
    label: "End the account",
    url: `${baseUrl}/disown-email?token=${token}`,
    note: "The token in it can also be sent to POST /api/auth/email/disown.",
  };
}
