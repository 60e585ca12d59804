import type { FieldViolation } from "../../platform/errors.ts";

const odd = /[\p{C}\p{Z}]/u;

/** A username as it is stored: NFKC, without spaces around it; or the violation where it is none. */
export function readUsername(text: string | undefined): { username: string } | { violation: FieldViolation } {
  const username = (text ?? "").normalize("NFKC").trim();
  if (username === "") return { violation: { field: "username", code: "required", message: "is required" } };
  if ([...username].length > 64)
    return { violation: { field: "username", code: "too_long", message: "must have at most 64 characters" } };
  if (odd.test(username))
    return { violation: { field: "username", code: "pattern", message: "must not have spaces or control characters" } };
  return { username };
}
