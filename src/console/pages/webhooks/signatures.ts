/** What a receiver was sent, as it is pasted. */
export interface Received {
  /** The webhook's secrets, `whsec_…`; two while one is rotated. */
  secrets: readonly string[];
  /** Headers by their name in lower case. */
  headers: Readonly<Record<string, string>>;
  /** The raw body. */
  body: string;
}

/** How one scheme judges a delivery. */
export interface Verdict {
  scheme: "Standard Webhooks" | "Service-Signature";
  outcome: "valid" | "wrong" | "missing";
  /** In words, for a person. */
  message: string;
}

const PREFIX = "whsec_";
const TOLERANCE_S = 300;

/** `name: value` lines, as a log or a browser shows them; names in lower case. */
export function readHeaders(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/u).flatMap((line) => {
    const at = line.indexOf(":", 1);
    return at === -1 ? [] : [[line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()] as const];
  });
  return Object.fromEntries(lines);
}

/** Checks a delivery by both schemes, in this browser: nothing is sent anywhere. `now`: milliseconds. */
export const checkSignatures = async (received: Received, now: number): Promise<Verdict[]> => [
  await standard(received, now),
  await service(received, now),
];

async function standard({ secrets, headers, body }: Received, now: number): Promise<Verdict> {
  const scheme = "Standard Webhooks";
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const signature = headers["webhook-signature"];
  if (signature === undefined) return { scheme, outcome: "missing", message: "There is no header webhook-signature." };
  if (id === undefined || timestamp === undefined)
    return { scheme, outcome: "missing", message: "It also takes the headers webhook-id and webhook-timestamp." };
  const given = signature.split(" ").flatMap((one) => (one.startsWith("v1,") ? [one.slice(3)] : []));
  const keys = secrets.map((secret) => bytesOf(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret));
  const wanted = await Promise.all(
    keys.map(async (key) => (key === undefined ? undefined : base64(await mac(key, `${id}.${timestamp}.${body}`)))),
  );
  return verdict(scheme, given, wanted, timestamp, now);
}

async function service({ secrets, headers, body }: Received, now: number): Promise<Verdict> {
  const scheme = "Service-Signature";
  const header = headers["service-signature"];
  if (header === undefined) return { scheme, outcome: "missing", message: "There is no header Service-Signature." };
  const parts = header.split(",").map((part) => part.trim().split("=", 2));
  const valuesOf = (name: string): string[] => parts.flatMap(([key, value = ""]) => (key === name ? [value] : []));
  const [timestamp] = valuesOf("t");
  if (timestamp === undefined) return { scheme, outcome: "wrong", message: "The header has no timestamp t=." };
  const encoder = new TextEncoder();
  const wanted = await Promise.all(
    secrets.map(async (secret) => hex(await mac(encoder.encode(secret), `${timestamp}.${body}`))),
  );
  return verdict(scheme, valuesOf("v1"), wanted, timestamp, now);
}

function verdict(
  scheme: Verdict["scheme"],
  given: readonly string[],
  wanted: readonly (string | undefined)[],
  timestamp: string,
  now: number,
): Verdict {
  const which = wanted.findIndex((one) => one !== undefined && given.includes(one));
  if (which === -1)
    return { scheme, outcome: "wrong", message: "No signature fits: another secret, or the body was changed." };
  const off = Math.round(now / 1000) - Number(timestamp);
  const age =
    Math.abs(off) <= TOLERANCE_S
      ? ""
      : ` It is ${Math.abs(off)} s ${off > 0 ? "old" : "ahead"}: receivers refuse it beyond 300 s.`;
  const secret = wanted.length > 1 ? ` Signed with secret ${which + 1}.` : "";
  return { scheme, outcome: "valid", message: `The signature is genuine.${secret}${age}` };
}

async function mac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(text)));
}

/** Bytes of base64; undefined where it is none, or empty, which is no key. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0));
    return bytes.length === 0 ? undefined : bytes;
  } catch {
    return undefined;
  }
}

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
