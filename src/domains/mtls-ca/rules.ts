import { isIP } from "node:net";
import type { FieldViolation } from "../../platform/errors.ts";
import type { JsonGeneralNames } from "../../platform/x509/library.ts";
import { ipName } from "../../platform/x509/names.ts";

export const DAY_MS = 86_400_000;
/** Default lifetimes, days (decisions 7.4). */
export const DEFAULT_DAYS = { authority: 3_650, certificate: 90 } as const;
/** How long a certificate remains listed after it has expired. */
export const LISTED_MS = 90 * DAY_MS;
/** `nextUpdate` of revocation lists, and the rest of it at which a reader gets the next one. */
export const LIST_MS = DAY_MS;
export const RENEW_LIST_MS = DAY_MS / 2;

const MAX_METADATA_NAME = 128;
/** A label of a host name (RFC 1123 §2.1). With `iu`, `[a-z]` has U+212A too, which DER would write as `*`. */
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/u;

/** The violation of a name that tools would show as something else; undefined where there is none. */
export function checkCommonName(commonName: string): FieldViolation | undefined {
  if (!/\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(commonName) && commonName.trim() !== "")
    return undefined;
  const message = "must have visible characters, and no control characters";
  return { field: "common_name", code: "pattern", message };
}

/** The kind of a subject alternative name; undefined when it is not accepted. */
function kindOf(san: string): "ip" | "dns" | undefined {
  // Node accepts a zone after an IPv6 address.
  if (isIP(san) !== 0) return san.includes("%") ? undefined : "ip";
  const labels = san.split(".");
  if (labels[0] === "*" && labels.length > 1) labels.shift();
  // A name that ends in a number is no host name, but an attempt at an address.
  const isNumeric = /^(?:\d+|0x[0-9a-f]*)$/iu.test(labels.at(-1) ?? "");
  return san.length <= 253 && !isNumeric && labels.every((label) => LABEL.test(label)) ? "dns" : undefined;
}

/** Subject alternative names as a certificate has them, or the violations that refuse them (decisions 7.4). */
export function readSans(sans: readonly string[]): { names: JsonGeneralNames } | { violations: FieldViolation[] } {
  const message =
    "must be a DNS name, with a wildcard only as its whole first label, or an IPv4 or IPv6 address; " +
    "write internationalized names as A-labels (xn--)";
  const names: JsonGeneralNames = [];
  const violations: FieldViolation[] = [];
  for (const [at, value] of sans.entries()) {
    const type = kindOf(value);
    if (type === undefined) {
      violations.push({ field: `sans[${at}]`, code: "pattern", message });
      continue;
    }
    const name = type === "ip" ? ipName(value) : { type, value };
    if (!names.some((known) => known.type === type && known.value === name.value)) names.push(name);
  }
  return violations.length === 0 ? { names } : { violations };
}

/** The violations of metadata whose names are empty or too long. */
export function checkMetadata(metadata: Readonly<Record<string, string>>): FieldViolation[] {
  return Object.keys(metadata)
    .filter((name) => name === "" || name.length > MAX_METADATA_NAME)
    .map(() => ({ field: "metadata", code: "length", message: "has names of other lengths than 1 to 128 characters" }));
}

/** The status of a certificate. */
export function statusOf(row: { revokedAt: Date | null; notAfter: Date }, nowMs: number): string {
  if (row.revokedAt !== null) return "revoked";
  return row.notAfter.getTime() <= nowMs ? "expired" : "active";
}
