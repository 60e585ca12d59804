import { errors } from "../../platform/errors.ts";
import { vaultErrors } from "./errors.ts";

/** Shares that unseal the vault, and shares that `vault split` makes (decisions 7.1). */
export const THRESHOLD = 3;
export const SHARES = 5;

/** A share: one byte for each of the key, then its coordinate (decisions 7.2). */
const SHARE_BYTES = 33;
/** Maximum size of a value, bytes of UTF-8. */
const MAX_VALUE_BYTES = 65_536;
const MAX_TAGS = 50;
const MAX_TAG_LENGTH = 64;
/** Versions that a list returns at most, the newest. */
export const MAX_LISTED_VERSIONS = 10_000;
/** Folders that a list returns at most, the first by name. */
export const MAX_LISTED_FOLDERS = 1_000;

/**
 * What must be true of a name for a write: nothing, that it is not in use, that it is, or that one of these versions is
 * the present one.
 */
export type Condition = "none" | "absent" | "living" | readonly number[];

/**
 * The condition of a write. `If-Match` is `*`, a bare version, or entity tags as in RFC 9110 §13.1.1; weak and foreign
 * tags match no version. Version 0 stands for a name that is not in use, and so does `If-None-Match: *`.
 * @throws {bad_request} when If-Match is neither
 * @throws {validation_error} when they contradict each other
 */
export function conditionOf(
  ifMatch: string | null,
  expectedVersion?: number,
  ifNoneMatch: string | null = null,
): Condition {
  if (ifNoneMatch?.trim() === "*") {
    if ((expectedVersion ?? 0) === 0) return conditionOf(ifMatch, 0);
    throw invalid("expected_version", "conflicting", "is not 0, as If-None-Match demands");
  }
  const byHeader = ifMatch === null ? "none" : conditionOfHeader(ifMatch.trim());
  if (expectedVersion === undefined) return byHeader;
  const byBody = expectedVersion === 0 ? "absent" : [expectedVersion];
  if (byHeader === "none" || byHeader === byBody) return byBody;
  const agrees =
    byBody !== "absent" && (byHeader === "living" || (byHeader !== "absent" && byHeader.includes(expectedVersion)));
  if (agrees) return byBody;
  throw invalid("expected_version", "conflicting", "is not a version that If-Match names");
}

function conditionOfHeader(text: string): Condition {
  if (text === "*") return "living";
  if (/^\d{1,9}$/u.test(text)) return text === "0" ? "absent" : [Number(text)];
  if (!/^(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*$/u.test(text)) throw vaultErrors.badIfMatch();
  if (text === '"0"') return "absent";
  return [...text.matchAll(/(W\/)?"([^"]*)"/gu)].flatMap(([, weak, tag = ""]) =>
    weak === undefined && /^[1-9]\d{0,8}$/u.test(tag) ? [Number(tag)] : [],
  );
}

/** The entity tag of a version. */
export const etagOf = (version: number): string => `"${version}"`;

/** Returns the value. @throws {validation_error} when it is longer than 64 KiB */
export function checkValue(value: string): string {
  if (Buffer.byteLength(value) > MAX_VALUE_BYTES) throw invalid("value", "too_long", "has more than 65,536 bytes");
  return value;
}

/** What an operator enters to unseal the vault: the master key, or one share of it. */
export type Entry = { key: Buffer } | { share: Buffer };

/** Reads what unseals; the contract checks the form. @throws {validation_error} unless it is one valid key or share */
export function readEntry(key: string | undefined, share: string | undefined): Entry {
  if (key !== undefined && share !== undefined) throw invalid("share", "conflicting", "is given beside key");
  if (key !== undefined) return { key: Buffer.from(key, "base64") };
  if (share === undefined) throw invalid("key", "required", "is required, or share is");
  const bytes = Buffer.from(share, "base64");
  // The last byte is the coordinate; the polynomial has the key at 0.
  if (bytes.length !== SHARE_BYTES || bytes.at(-1) === 0) throw invalid("share", "invalid", "is not a share");
  return { share: bytes };
}

/** Tags from their JSON. @throws {validation_error} unless they are at most 50 texts of 1 to 64 characters */
export function readTags(given: readonly unknown[]): string[] {
  if (given.length > MAX_TAGS) throw invalid("tags", "too_many", `has more than ${MAX_TAGS} items`);
  return given.map((tag, at) => {
    const length = typeof tag === "string" ? [...tag].length : 0;
    if (typeof tag === "string" && length > 0 && length <= MAX_TAG_LENGTH) return tag;
    throw invalid(`tags[${at}]`, "invalid", `is not a text of 1 to ${MAX_TAG_LENGTH} characters`);
  });
}

/** A validation error of one field. */
function invalid(field: string, code: string, message: string) {
  return errors.validation({ fields: [{ field, code, message }] });
}
