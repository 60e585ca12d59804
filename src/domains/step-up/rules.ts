import { amrOf } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import type { ServiceError } from "../../platform/errors.ts";
import type { StepUpMethod } from "./store.ts";

/** The answer to a challenge; its method decides which member is read. */
export interface StepUpAnswer {
  challengeId: string;
  code?: string | undefined;
  /** `code` is a recovery code. */
  recovery?: boolean | undefined;
  token?: string | undefined;
  password?: string | undefined;
}

/** The members each method reads: the first that is given. */
const MEMBERS = { totp: ["code"], magic_link: ["token", "code"], password: ["password"] } as const satisfies Record<
  StepUpMethod,
  readonly (keyof StepUpAnswer)[]
>;

/**
 * The input of a method.
 * @throws {bad_request} when it is missing
 */
export function demandAnswer(method: StepUpMethod, answer: StepUpAnswer): string {
  for (const member of MEMBERS[method]) {
    const given = answer[member];
    if (given !== undefined && given !== "") return given;
  }
  const [field] = MEMBERS[method];
  throw missing(field, field);
}

/**
 * Demands an input of any method.
 * @throws {bad_request} when all are missing
 */
export function demandAnyAnswer({ code, token, password }: StepUpAnswer): void {
  if ([code, token, password].every((given) => given === undefined || given === ""))
    throw missing("code", "code, token or password, as the method of the challenge asks");
}

/** How the holder of an elevated token proved who they are (RFC 8176): by the session's sign-in and by the step-up. */
export function provenBy(caller: Caller, method: StepUpMethod, { recovery }: StepUpAnswer): string[] {
  const added =
    method === "password" ? ["pwd"] : method === "magic_link" ? ["mail"] : recovery === true ? ["mfa"] : ["otp", "mfa"];
  return [...new Set([...amrOf(caller), ...added])];
}

/** Refuses `totp` of a person without an active factor; `field` is the member of the request that asks for it. */
export function noFactor(field: "method" | "challenge_id"): ServiceError {
  const advice = "totp needs an active factor; use another method or add a factor";
  return unusable("You have no active factor.", { field, advice });
}

/** Refuses `password` of a person without one. */
export function noPassword(): ServiceError {
  const advice = "password needs a password; use another method or set one by mail";
  return unusable("You have no password.", { field: "method", advice });
}

function unusable(message: string, { field, advice }: { field: string; advice: string }): ServiceError {
  return errors.badRequest({ message, fields: [{ field, code: "not_allowed", message: advice }] });
}

function missing(field: string, wanted: string): ServiceError {
  return errors.badRequest({
    message: `The answer to the challenge is missing: send ${wanted}.`,
    fields: [{ field, code: "required", message: "is required" }],
  });
}
