import { serviceUrl } from "../settings.ts";
import { failureOf } from "./failures.ts";
import { createStore } from "./store.ts";

/** How the service is reached: the browser has no network, or the service does not answer, or it is not ready. */
export type Reach = "reached" | "offline" | "away";

/** Time between two attempts to reach a service that is away, milliseconds. */
const PAUSE_MS = 2_000;

const UNREACHED: ReadonlySet<string> = new Set(["offline", "unavailable"]);

/** Whether the service is reached, as far as the last calls and the browser show. */
export const reach = createStore<Reach>(navigator.onLine ? "reached" : "offline");

let watching = false;

/**
 * Notes that a call failed. Where the service is not ready, it is asked until it is; then `recovered` is called once.
 * One that is ready failed that call alone.
 */
export function noteFailure(error: unknown, recovered: () => void): void {
  if (watching || !UNREACHED.has(failureOf(error).code)) return;
  watching = true;
  void untilReady().then((waited) => {
    watching = false;
    reach.set("reached");
    if (waited) recovered();
  });
}

/** Resolves to whether it had to wait. */
async function untilReady(): Promise<boolean> {
  let waited = false;
  while (!(await isReady())) {
    waited = true;
    reach.set(navigator.onLine ? "away" : "offline");
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return waited;
}

async function isReady(): Promise<boolean> {
  if (!navigator.onLine) return false;
  return fetch(`${serviceUrl}/readyz`, { cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  );
}

addEventListener("offline", () => reach.set("offline"));
addEventListener("online", () => reach.set(watching ? "away" : "reached"));
