import type { Caller } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import type { ServiceError } from "../../platform/errors.ts";
import type { StepUpMethod } from "./step-up-store.ts";

/** The answer to a challenge; which member counts depends on its method. */
export interface StepUpAnswer {
  challengeId: string;
  code?: string | undefined;
  /** `code` is a recovery code. */
  recovery?: boolean | undefined;
  token?: string | undefined;
  password?: string | undefined;
}

/** What each method takes, the first that is given. */
const members = { totp: ["code"], magic_link: ["token", "code"], password: ["password"] } as const satisfies Record<
  StepUpMethod,
  readonly (keyof StepUpAnswer)[]
>;

/** The input a method takes. Throws 400 `bad_request` without it. */
export function demandAnswer(method: StepUpMethod, answer: StepUpAnswer): string {
  for (const member of members[method]) {
    const given = answer[member];
    if (given !== undefined && given !== "") return given;
  }
  throw missing(members[method][0]);
}

/** Refuses with 400 `bad_request` what answers no challenge of whatever method. */
export function demandAnyAnswer({ code, token, password }: StepUpAnswer): void {
  if ([code, token, password].every((given) => given === undefined || given === "")) throw missing("code");
}

/** How the holder of an elevated token proved who they are (RFC 8176): the session's way and the step-up's. */
export function provenBy(caller: Caller, method: StepUpMethod, { recovery }: StepUpAnswer): string[] {
  const session = caller.claims?.["amr"];
  const added =
    method === "password" ? ["pwd"] : method === "magic_link" ? ["mail"] : recovery === true ? ["mfa"] : ["otp", "mfa"];
  return [...new Set([...(Array.isArray(session) ? (session as string[]) : []), ...added])];
}

function missing(field: string): ServiceError {
  return errors.badRequest({
    message: `The answer to the challenge is missing: send ${field}.`,
    fields: [{ field, code: "required", message: "is required" }],
  });
}
