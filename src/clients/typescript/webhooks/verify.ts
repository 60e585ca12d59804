import { Webhook, WebhookVerificationError } from "../bundled/standardwebhooks.ts";
import type { WebhookEvent } from "./events.ts";

/** Headers of a request: the Fetch API's, or a record by their names in any case. */
export type ReceivedHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request that a webhook received. */
export interface ReceivedWebhook {
  /** The secret of the webhook; while it is rotated, the old one too. */
  secrets: string | readonly string[];
  /** The body as it came: bytes, or the text of them. A parsed body cannot be verified. */
  body: string | Uint8Array | ArrayBuffer;
  headers: ReceivedHeaders;
}

/** Why a request is not an event of the service. */
export class WebhookRefusal extends Error {
  override readonly name = "WebhookRefusal";
  /** What to respond. */
  readonly status = 401;
}

const SIGNED = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

/** @throws TypeError when there is no secret, or one that is empty, with which anybody could sign, or not base64 */
export function checkSecrets(secrets: string | readonly string[]): void {
  webhooksOf(secrets);
}

function webhooksOf(secrets: string | readonly string[]): Webhook[] {
  const given = typeof secrets === "string" ? [secrets] : secrets;
  if (given.length === 0) throw new TypeError("A webhook secret is required.");
  return given.map((secret) => {
    try {
      return new Webhook(secret.trim());
    } catch (cause) {
      throw new TypeError("A webhook secret is empty or not base64; give it as the service returned it.", { cause });
    }
  });
}

/**
 * Verifies the signature of a delivery (Standard Webhooks; at most 300 seconds off).
 * @throws WebhookRefusal when it is missing, wrong or too old
 * @throws TypeError when the body was parsed before, or a secret is missing or malformed
 */
export function verifyDelivery({ secrets, body, headers }: ReceivedWebhook): { id: string; text: string } {
  const webhooks = webhooksOf(secrets);
  const text = textOf(body);
  const signed = Object.fromEntries(SIGNED.map((name) => [name, valueOf(headers, name)]));
  let reason = "";
  for (const webhook of webhooks) {
    try {
      webhook.verify(text, signed, { jsonParse: false });
      return { id: signed["webhook-id"] ?? "", text };
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      reason = error.message;
    }
  }
  throw new WebhookRefusal(reason);
}

/**
 * The event of a delivery. Types that a later service sends are passed on as they are.
 * @throws WebhookRefusal @throws TypeError
 */
export function verifyWebhook(received: ReceivedWebhook): WebhookEvent {
  const { text } = verifyDelivery(received);
  try {
    return JSON.parse(text) as WebhookEvent;
  } catch (cause) {
    throw new WebhookRefusal("The body is not JSON.", { cause });
  }
}

function textOf(body: ReceivedWebhook["body"]): string {
  if (typeof body === "string") return body;
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return new TextDecoder().decode(body);
  throw new TypeError(
    "The body was parsed: pass the raw bytes, which the signature covers (express.raw, request.text).",
  );
}

function valueOf(headers: ReceivedHeaders, name: string): string {
  if ("get" in headers && typeof headers.get === "function") return headers.get(name) ?? "";
  const values = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  // Some platforms pass the names on as they were sent.
  const value = values[name] ?? Object.entries(values).find(([key]) => key.toLowerCase() === name)?.[1];
  return (typeof value === "string" ? value : value?.[0]) ?? "";
}
