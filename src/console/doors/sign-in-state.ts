import { admit } from "../session/session.ts";
import type { Admission } from "../session/session.ts";
import { localPath } from "../settings.ts";

/** What a door hands to the page of the second factor. In memory alone: a reload starts the sign-in over. */
export interface PendingSignIn {
  mfaToken: string;
  /** Path to go to afterwards. */
  next: string | undefined;
}

let pending: PendingSignIn | undefined;

export const pendingSignIn = (): PendingSignIn | undefined => pending;

export function clearPending(): void {
  pending = undefined;
}

let onceIn: (() => Promise<void>) | undefined;

/** Keeps what the next sign-in of this tab does when it is complete. In memory alone. */
export function keepForEntry(work: () => Promise<void>): void {
  onceIn = work;
}

/** What every door answers. */
export interface DoorAnswer extends Admission {
  mfaRequired?: boolean | undefined;
  mfaToken?: string | undefined;
}

/** Goes on after a door answered: returns the path to go to. */
export async function passDoor(answer: DoorAnswer, next: string | undefined): Promise<string> {
  if (answer.mfaToken !== undefined && answer.mfaToken !== "") {
    pending = { mfaToken: answer.mfaToken, next };
    return "/sign-in/second-factor";
  }
  await admit(answer);
  clearPending();
  const work = onceIn;
  onceIn = undefined;
  await work?.();
  return localPath(next);
}
