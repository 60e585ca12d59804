import {
  condition,
  continueAsNew,
  defineSignal,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import type { InstallActivities, InstallStep } from "../installs/activities.ts";

const retry = { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "10s" } as const;
const { nextInstallStep: nextInstallStepByQueue, expireInstallStep } = proxyActivities<InstallActivities>({
  startToCloseTimeout: "20s",
  retry,
});
/** Reads one row; a local activity, so that it needs no task of its own. */
const { nextInstallStep } = proxyLocalActivities<InstallActivities>({ startToCloseTimeout: "20s", retry });

/** The install changed: read the row again. */
export const installChangedSignal = defineSignal("install-changed");

type InstallRequest = Exclude<InstallStep, { kind: "none" }>;

/** Progress of the pending request's schedule, so that a signal without a change does not restart it. */
interface Tried {
  eventId: string;
  attempts: number;
  /** When the next attempt is due, milliseconds since the epoch. */
  nextAt: number;
}

/** A wait of the schedule with its jitter of ±20 % (decisions 11.4). */
function jittered(ms: number): number {
  return Math.round(ms * (0.8 + Math.random() * 0.4));
}

/**
 * Makes the requests that an install's row has pending: provisioning, notices, deprovisioning. The row stores the
 * state, this workflow waits and retries. It ends when no request is pending; the next change starts it again. Id:
 * `install/<install_id>`.
 */
export async function driveInstall(
  installId: string,
  begun: Tried = { eventId: "", attempts: 0, nextAt: 0 },
): Promise<void> {
  const readStep = patched("step-read-locally") ? nextInstallStep : nextInstallStepByQueue;
  let changed = false;
  setHandler(installChangedSignal, () => {
    changed = true;
  });

  let tried = begun;
  const waitMs = ({ schedule }: InstallRequest, attempts: number): number =>
    jittered(schedule[Math.min(attempts, schedule.length - 1)] ?? 0);

  const isLong = (): boolean => workflowInfo().continueAsNewSuggested && patched("continued-at-every-turn");

  /** Attempts one request until it is settled, accepted, replaced or expired, or the history is too long. */
  async function drive(step: InstallRequest): Promise<void> {
    const { eventId } = step;
    const deadline = Date.now() + step.remainingMs;
    /** Resolves to true when the wait has ended and the install has not changed. */
    const wait = async (ms: number): Promise<boolean> => !(ms > 0 && (await condition(() => changed, ms))) && !changed;

    if (step.accepted) {
      if (await wait(step.remainingMs)) await expireInstallStep(installId, eventId);
      return;
    }
    // Little more than an attempt takes, so that an attempt of a killed worker is soon retried.
    const { attemptInstallStep } = proxyActivities<InstallActivities>({ startToCloseTimeout: step.attemptMs, retry });
    if (tried.eventId !== eventId || !patched("schedule-goes-on"))
      tried = { eventId, attempts: 0, nextAt: Date.now() + waitMs(step, 0) };
    while (tried.attempts !== step.attempts) {
      if (!(await wait(Math.min(tried.nextAt, deadline) - Date.now()))) return;
      if (tried.attempts > 0 && Date.now() >= deadline) break;
      const attempts = tried.attempts + 1;
      // Decided before the attempt, so that the timeline says when the next one follows.
      const nextMs = waitMs(step, attempts);
      const result = await attemptInstallStep(installId, eventId, attempts === step.attempts ? null : nextMs);
      if (result.kind !== "retry") return;
      tried = { eventId, attempts, nextAt: Date.now() + Math.max(nextMs, result.retryAfterMs) };
      if (isLong()) return;
    }
    await expireInstallStep(installId, eventId);
  }

  for (;;) {
    // Checked in every iteration: signals and attempts alone can make a history long.
    if (isLong()) await continueAsNew<typeof driveInstall>(installId, tried);
    changed = false;
    const step = await readStep(installId);
    if (step.kind !== "none") await drive(step);
    else if (!changed) return;
  }
}
