import type { OpenSession } from "./open-streams.ts";

/** Maximum time between two checks, milliseconds. */
const MAX_INTERVAL_MS = 250;

/** Closes HTTP/2 sessions that are not used. */
export interface IdleWatch {
  add(open: OpenSession): void;
  stop(): void;
}

/**
 * Closes sessions that have had no stream for `idleMs`. One timer for all of them: the timer that node offers for each
 * session is restarted with every frame, several times per call.
 */
export function watchIdle(idleMs: number): IdleWatch {
  const sessions = new Map<OpenSession, { opened: number; since: number }>();
  const timer = setInterval(
    () => {
      const now = performance.now();
      for (const [open, seen] of sessions) {
        if (open.streams > 0 || open.opened !== seen.opened) {
          seen.opened = open.opened;
          seen.since = now;
        } else if (now - seen.since >= idleMs) {
          open.session.close();
        }
      }
    },
    Math.min(MAX_INTERVAL_MS, idleMs / 8),
  ).unref();
  return {
    add(open) {
      sessions.set(open, { opened: open.opened, since: performance.now() });
      open.session.on("close", () => sessions.delete(open));
    },
    stop: () => clearInterval(timer),
  };
}
