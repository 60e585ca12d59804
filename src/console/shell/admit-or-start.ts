import { failureOf } from "../session/failures.ts";
import { admit, start } from "../session/session.ts";
import type { Admission } from "../session/session.ts";
import { alertToast } from "../widgets/toasts.ts";

/** Takes the answer of a door from an open page. When the caller cannot be read, says so and reads it once more. */
export async function admitOrStart(admission: Admission): Promise<void> {
  try {
    await admit(admission);
  } catch (error) {
    const { message, requestId } = failureOf(error);
    alertToast({ message: `${message} If this page stays as it is, reload it.`, requestId });
    // The tokens are the new ones already.
    await start().catch(() => undefined);
  }
}
