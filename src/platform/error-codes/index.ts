import { COMMERCE_CODES } from "./commerce.ts";
import type { ErrorEntry } from "./entry.ts";
import { GENERAL_CODES } from "./general.ts";
import { IDENTITY_CODES } from "./identity.ts";

export type { ErrorEntry } from "./entry.ts";

/** Every error code of the contract. A row of an `errors.ts` with another code does not compile. */
export const ERROR_CODES = { ...GENERAL_CODES, ...IDENTITY_CODES, ...COMMERCE_CODES } as const;
export type ErrorCode = keyof typeof ERROR_CODES;

/** The same table for codes that are known at run time only. */
export const errorEntries: ReadonlyMap<string, ErrorEntry> = new Map(Object.entries<ErrorEntry>(ERROR_CODES));

/** Whether the catalogue has `code`. */
export function isErrorCode(code: string): code is ErrorCode {
  return errorEntries.has(code);
}

/**
 * The code that an option of the contract names.
 * @throws Error when the catalogue has no such code, which stops the start
 */
export function errorCode(code: string): ErrorCode {
  if (!isErrorCode(code)) throw new Error(`names the error code ${code}, which src/platform/error-codes does not have`);
  return code;
}
