import type { Sealer } from "../crypto/sealed.ts";
import { sealedColumn } from "../crypto/sealed-column.ts";
import type { Tx } from "../db/types.ts";
import type { Mail, MailSink } from "./mailbox.ts";

/** Outbox topic of mails. The payload is `{box}`: the mail as JSON, sealed with the instance key, base64. */
export const MAIL_SEND = "mail.send";

/** Delays between attempts to send a mail, milliseconds (decisions 3.6); the last repeats until the mail expires. */
export const mailRetry: readonly number[] = [1_000, 5_000, 15_000, 30_000];

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
    where: `topic = '${MAIL_SEND}'`,
  },
});

/** Writes mails to the outbox, in the transaction of the event they report. */
export interface MailOutbox {
  /** No attempt is made after `validUntil`, when the code or link in the mail expires. */
  enqueue(tx: Pick<Tx, "emit">, mail: Mail, validUntil: Date): Promise<void>;
}

/** Creates the writer of mails. */
export function createMailOutbox(sealer: Pick<Sealer, "seal">): MailOutbox {
  return {
    enqueue: (tx, mail, validUntil) =>
      tx.emit({
        topic: MAIL_SEND,
        payload: { box: sealer.seal(JSON.stringify(mail), CONTEXT).toString("base64") },
        expiresAt: validUntil,
      }),
  };
}

/** Creates the handler of the topic. It rejects when a later attempt may succeed. */
export function createMailHandler(
  sealer: Pick<Sealer, "open">,
  sink: MailSink,
): (payload: Record<string, unknown>) => Promise<void> {
  return async ({ box }) => {
    const mail = JSON.parse(sealer.open(Buffer.from(String(box), "base64"), CONTEXT).toString("utf8")) as Mail;
    await sink.send(mail);
  };
}
