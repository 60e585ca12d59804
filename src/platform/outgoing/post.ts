import type { Sealer } from "../crypto/sealed.ts";
import type { Tx } from "../db/types.ts";
import type { Mail, MailSink } from "./mailbox.ts";

/** Outbox topic of mails. The payload is `{box}`: the mail as JSON, sealed with the instance key, base64. */
export const MAIL_SEND = "mail.send";

/** Waits between tries of a mail, milliseconds (decisions 3.6); the last repeats while what it carries is valid. */
export const mailRetry: readonly number[] = [1_000, 5_000, 15_000, 30_000];

const context = "mail.send";

/** Puts mails into the outbox, in the transaction of what they tell of. */
export interface Post {
  /** `validUntil`: no try is made after what the mail carries has expired. */
  enqueue(tx: Pick<Tx, "emit">, mail: Mail, validUntil: Date): Promise<void>;
}

/** The way of a mail into the outbox. */
export function createPost(sealer: Pick<Sealer, "seal">): Post {
  return {
    enqueue: (tx, mail, validUntil) =>
      tx.emit({
        topic: MAIL_SEND,
        payload: { box: sealer.seal(JSON.stringify(mail), context).toString("base64") },
        expiresAt: validUntil,
      }),
  };
}

/** The way of a mail out of the outbox: handler of the topic. Rejects when a later try makes sense. */
export function createMailHandler(
  sealer: Pick<Sealer, "open">,
  sink: MailSink,
): (payload: Record<string, unknown>) => Promise<void> {
  return async ({ box }) => {
    const mail = JSON.parse(sealer.open(Buffer.from(String(box), "base64"), context).toString("utf8")) as Mail;
    await sink.send(mail);
  };
}
