import type { RequestInfo } from "../../platform/caller.ts";
import { ServiceError } from "../../platform/errors.ts";
import { EVENTS, withoutActor } from "../event-catalogue/index.ts";
import type { LoginDeps } from "./deps.ts";

/** Whose sign-in was refused, as the failure names them. */
interface Refused {
  userUuid: string | null;
  orgUuid: string | null;
  metadata?: Readonly<Record<string, unknown>>;
}

type SignInEvent = "login.password" | "login.magic_link" | "login.totp_verify" | "login.recovery_code";

/**
 * Records the failure of people who have proven who they are, but not in the way their organization requires
 * (decisions 17.8). The transaction of the sign-in has rolled back by then.
 */
export function createSsoRefusals({ events }: Pick<LoginDeps, "events">) {
  return async function recorded<T>(
    signIn: Promise<T>,
    info: RequestInfo,
    refused: () => Promise<Refused & { event: SignInEvent }>,
  ): Promise<T> {
    try {
      return await signIn;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "sso_required") throw error;
      const { event, userUuid, orgUuid, metadata } = await refused();
      await events.recordFailure(EVENTS[event], {
        by: withoutActor(userUuid, info),
        orgUuid,
        metadata: { ...metadata, code: error.code },
      });
      throw error;
    }
  };
}
