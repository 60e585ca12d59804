import { failureOf } from "../session/failures.ts";
import { signOut } from "../session/session.ts";
import { alertToast } from "../widgets/toasts.ts";

const STILL_OPEN = "The service did not end your session. Reload the page, and sign out again.";
const UNKNOWN = "The service did not answer: your session may still be open. Reload the page, and sign out again.";

/** Signs out. Where the service does not end the session, the sign-in page says so: a reload would go on with it. */
export function leave(reason?: "idle" | "signed-out"): void {
  void signOut(reason).catch((error: unknown) => {
    const failure = failureOf(error);
    alertToast({ ...failure, message: failure.code === "offline" ? UNKNOWN : STILL_OPEN });
  });
}
