import { failureOf } from "../session/failures.ts";
import { signOut } from "../session/session.ts";
import { alertToast } from "../widgets/toasts.ts";

const STILL_OPEN = "The service did not end your session. Reload the page, and sign out again.";

/** Signs out. Where the service does not end the session, the sign-in page says so: a reload would go on with it. */
export function leave(reason?: "idle" | "signed-out"): void {
  void signOut(reason).catch((error: unknown) => alertToast({ ...failureOf(error), message: STILL_OPEN }));
}
