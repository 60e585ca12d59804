import { ServiceError } from "./errors.ts";

/**
 * The result of a transaction that commits although it refuses, because it recorded or counted the refusal: the work
 * resolves with the error in place of throwing it, which would roll back.
 * @throws the refusal, after the commit
 */
export function settled<T>(outcome: T | ServiceError): T {
  if (outcome instanceof ServiceError) throw outcome;
  return outcome;
}
