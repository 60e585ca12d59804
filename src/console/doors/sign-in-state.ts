import { admit, sessionStore } from "../session/session.ts";
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

/** What a sign-in does when it is complete. */
export interface EntryWork {
  run(): Promise<void>;
  /** Says that it is not done: the sign-in was not the one that was expected. */
  drop(): void;
}

let onceIn: EntryWork | undefined;
let address = "";

/** Keeps what the next sign-in of this tab does when it is complete. In memory alone. */
export function keepForEntry(work: EntryWork): void {
  onceIn = work;
}

/** Notes whose sign-in the door is about: a mailed link completes it in another tab. */
export function noteAddress(email: string): void {
  address = email.trim().toLowerCase();
}

function takeWork(): EntryWork | undefined {
  const work = onceIn;
  onceIn = undefined;
  return work;
}

// A session that another tab began does the work if it is of the address of the door. One that ended takes the work
// with it: it is not for whoever signs in next.
sessionStore.subscribe(() => {
  const now = sessionStore.get();
  if (now.status !== "in" && !(now.status === "out" && now.reason !== undefined)) return;
  const work = takeWork();
  if (now.status === "in" && now.me.email?.toLowerCase() === address) void work?.run();
  else work?.drop();
});

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
  const work = takeWork();
  try {
    await admit(answer);
  } catch (error) {
    onceIn ??= work;
    throw error;
  }
  clearPending();
  await work?.run();
  return localPath(next);
}
