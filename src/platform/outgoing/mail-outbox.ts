import type { Sealer } from "../crypto/sealed.ts";
import { sealedColumn } from "../crypto/sealed-column.ts";
import type { Tx } from "../db/types.ts";
import type { Log } from "../log.ts";
import type { TopicHandler } from "../topics.ts";
import { RefusedMailError } from "./mailbox.ts";
import type { Mail, MailSink } from "./mailbox.ts";

/** Outbox topic of mails. The payload is `{box}`: the mail as JSON, sealed with the instance key, base64. */
const MAIL_SEND = "mail.send";
/** Topic of mails that organizations send in numbers: they delay no mail that somebody waits for. */
const MAIL_BULK = "mail.bulk";
/** Topic of mails whose first attempt failed: mails that fail for days delay no new one. */
const MAIL_RETRY = "mail.retry";
/** Mails sent concurrently, of each topic. Bulk mails and retries together never use all connections of the mailer. */
const CONCURRENCY = { [MAIL_SEND]: 4, [MAIL_BULK]: 2, [MAIL_RETRY]: 2 };

/** Delays between the first attempts to send a mail, milliseconds (decisions 3.6); the last is the shortest later. */
const FIRST_DELAYS_MS = [1_000, 5_000, 15_000, 30_000] as const;
const SHORTEST_LATER_MS = 30_000;
/** A mail that has failed for long waits for this share of its age: codes and links are tried every 30 s. */
const AGE_SHARE = 1 / 60;
const LONGEST_DELAY_MS = 3_600_000;

const CONTEXT = "mail.send";

/** Mails that wait to be sent. */
export const SEALED_MAILS = sealedColumn({
  table: "outbox",
  column: "payload",
  key: { id: "bigint" },
  context: () => CONTEXT,
  inside: {
    read: "decode(t.payload ->> 'box', 'base64')",
    // PostgreSQL breaks the lines of base64.
    write: "jsonb_build_object('box', translate(encode(n.box, 'base64'), E'\\n', ''))",
    where: `topic in ('${MAIL_SEND}', '${MAIL_BULK}', '${MAIL_RETRY}')`,
  },
});

/** When a mail is sent. */
export interface MailTiming {
  /** No attempt is made after this, when the code or link in the mail expires. */
  validUntil: Date;
  /** One of many that an organization sends: mails that somebody waits for are not behind it. Default: false. */
  bulk?: boolean | undefined;
}

/** Writes mails to the outbox, in the transaction of the event they report. */
export interface MailOutbox {
  enqueue(tx: Pick<Tx, "emit">, mail: Mail, timing: MailTiming): Promise<void>;
}

/** Creates the writer of mails. */
export function createMailOutbox(sealer: Pick<Sealer, "seal">): MailOutbox {
  return {
    enqueue: (tx, mail, { validUntil, bulk = false }) =>
      tx.emit({
        topic: bulk ? MAIL_BULK : MAIL_SEND,
        payload: { box: sealer.seal(JSON.stringify(mail), CONTEXT).toString("base64") },
        expiresAt: validUntil,
      }),
  };
}

/** What sends mails, and the number of those that were refused for good since the start. */
export interface MailTopics {
  topics: Readonly<Record<string, TopicHandler>>;
  refused(): number;
}

/** Creates the handlers of the topics. A mail that is refused for good ends with a warning that names no address. */
export function createMailTopics({ sealer, sink, log }: MailTopicsDeps): MailTopics {
  const open = createMailHandler(sealer, sink);
  let refused = 0;
  const handle: TopicHandler["handle"] = async (payload, { id, attempts, createdAt }) => {
    try {
      await open(payload, `${createdAt.getTime()}.${id}`);
    } catch (error) {
      if (!(error instanceof RefusedMailError)) throw error;
      refused++;
      const { message, replyCode } = error;
      log.warn({ id, attempts, replyCode, reason: message }, "A mail was refused for good and is not tried again");
    }
  };
  const handler = (topic: keyof typeof CONCURRENCY): TopicHandler => ({
    handle,
    retry: mailDelay,
    concurrency: CONCURRENCY[topic],
    retryTopic: MAIL_RETRY,
  });
  return {
    topics: {
      [MAIL_SEND]: handler(MAIL_SEND),
      [MAIL_BULK]: handler(MAIL_BULK),
      [MAIL_RETRY]: handler(MAIL_RETRY),
    },
    refused: () => refused,
  };
}

/** Dependencies of {@link createMailTopics}. */
export interface MailTopicsDeps {
  sealer: Pick<Sealer, "open">;
  sink: MailSink;
  log: Pick<Log, "warn">;
}

/** Returns the wait after a failed attempt. */
function mailDelay(attempts: number, ageMs: number): number {
  const first = FIRST_DELAYS_MS[attempts - 1];
  return first ?? Math.min(LONGEST_DELAY_MS, Math.max(SHORTEST_LATER_MS, ageMs * AGE_SHARE));
}

/** Creates the function that sends the mail of a message. It rejects as {@link MailSink.send} does. */
export function createMailHandler(
  sealer: Pick<Sealer, "open">,
  sink: MailSink,
): (payload: Record<string, unknown>, id?: string) => Promise<void> {
  return async ({ box }, id) => {
    const mail = JSON.parse(sealer.open(Buffer.from(String(box), "base64"), CONTEXT).toString("utf8")) as Mail;
    await sink.send({ ...mail, id });
  };
}
