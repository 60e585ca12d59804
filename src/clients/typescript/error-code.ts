import type { ErrorCode as KnownErrorCode } from "../../../gen/error-codes.ts";

/** Codes of errors, as the service names them. A later service may send others; editors complete the known ones. */
export type ErrorCode = KnownErrorCode | (string & Record<never, never>);
