import { createHmac } from "node:crypto";
import { constantTimeEqual } from "../crypto/opaque.ts";
import type { ErrorRow } from "../errors.ts";
import type { Random } from "../random.ts";

const prefix = "whsec_";

/** Headers of one signed delivery (decisions 11.3). */
export interface DeliverySignature {
  "webhook-id": string;
  "webhook-timestamp": string;
  "webhook-signature": string;
  "service-signature": string;
}

/** Returns a new secret: `whsec_` and base64 of 32 bytes. */
export function newWebhookSecret(random: Pick<Random, "bytes">): string {
  return `${prefix}${random.bytes(32).toString("base64")}`;
}

export interface Delivery {
  /** The event's id, the same in every attempt. */
  id: string;
  /** Unix seconds of this attempt. */
  timestamp: number;
  body: Uint8Array | string;
  /** Valid secrets, newest first. */
  secrets: readonly string[];
}

/** Signs with both schemes: Standard Webhooks, and `t=…,v1=…` as verified by Stripe's libraries. */
export function signDelivery({ id, timestamp, body, secrets }: Delivery): DeliverySignature {
  const standard = secrets.map((secret) => `v1,${standardMac(secret, id, String(timestamp), body).toString("base64")}`);
  const service = secrets.map((secret) => `v1=${serviceMac(secret, String(timestamp), body).toString("hex")}`);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": standard.join(" "),
    "service-signature": [`t=${timestamp}`, ...service].join(","),
  };
}

/** Headers of a request: the fetch API's, or a record with names in lower case. */
export type SignedHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The only error for a received delivery, for every reason (decisions 9.4). */
export const badSignature: ErrorRow = [
  401,
  "unauthorized",
  "The signature is missing or wrong, or the install is not known.",
];

/** Headers that carry a signature, one for each scheme. */
export const signatureHeaders = ["webhook-signature", "service-signature"] as const;

export interface ReceivedDelivery {
  headers: SignedHeaders;
  /** The raw bytes. */
  body: Uint8Array | string;
  secrets: readonly string[];
  /** Present time in Unix seconds. */
  nowSeconds: number;
  /** Maximum difference of a timestamp in either direction, seconds. Default 300. */
  toleranceSeconds?: number;
}

/**
 * Whether a received delivery is genuine (decisions 9.4): it has at least one of the two signatures, and each of them
 * verifies against one of the secrets and has a timestamp within the tolerance.
 */
export function verifyDelivery(received: ReceivedDelivery): boolean {
  const { headers, body, secrets, nowSeconds, toleranceSeconds = 300 } = received;
  const timely = (timestamp: string | undefined): timestamp is string =>
    timestamp !== undefined &&
    /^[0-9]{1,12}$/.test(timestamp) &&
    Math.abs(nowSeconds - Number(timestamp)) <= toleranceSeconds;
  const standard = header(headers, "webhook-signature");
  const service = header(headers, "service-signature");
  if (standard === undefined && service === undefined) return false;

  if (standard !== undefined) {
    const id = header(headers, "webhook-id");
    const timestamp = header(headers, "webhook-timestamp");
    if (id === undefined || id === "" || !timely(timestamp)) return false;
    const given = standard.split(" ").flatMap((entry) => (entry.startsWith("v1,") ? [entry.slice(3)] : []));
    if (
      !anyMatch(
        given,
        secrets.map((secret) => standardMac(secret, id, timestamp, body).toString("base64")),
      )
    )
      return false;
  }
  if (service !== undefined) {
    const parts = service.split(",").map((part) => part.trim().split("=", 2));
    const timestamps = parts.flatMap(([name, value]) => (name === "t" ? [value] : []));
    const [timestamp] = timestamps;
    if (timestamps.length !== 1 || !timely(timestamp)) return false;
    const given = parts.flatMap(([name, value = ""]) => (name === "v1" ? [value] : []));
    if (
      !anyMatch(
        given,
        secrets.map((secret) => serviceMac(secret, timestamp, body).toString("hex")),
      )
    )
      return false;
  }
  return true;
}

const maxSignatures = 16;

function anyMatch(given: readonly string[], wanted: readonly string[]): boolean {
  let found = false;
  for (const one of given.slice(0, maxSignatures)) {
    for (const other of wanted) if (constantTimeEqual(one, other)) found = true;
  }
  return found;
}

function standardMac(secret: string, id: string, timestamp: string, body: Uint8Array | string): Buffer {
  const key = Buffer.from(secret.startsWith(prefix) ? secret.slice(prefix.length) : secret, "base64");
  return createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
}

function serviceMac(secret: string, timestamp: string, body: Uint8Array | string): Buffer {
  return createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest();
}

function header(headers: SignedHeaders, name: string): string | undefined {
  if ("get" in headers && typeof headers.get === "function") return headers.get(name) ?? undefined;
  const value = (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name];
  return typeof value === "string" || value === undefined ? value : value.join(", ");
}
