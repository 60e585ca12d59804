import type { OpenSession } from "./open-streams.ts";

/** Maximum time between two checks, milliseconds. */
const MAX_INTERVAL_MS = 250;

/** Ends HTTP/2 sessions that are not used, or whose client has vanished. */
export interface IdleWatch {
  add(open: OpenSession): void;
  stop(): void;
}

/** What was seen of a session at the last check. */
interface Seen {
  opened: number;
  /** Since when it has had no stream. */
  since: number;
  /** Bytes written, and since when there have been no more. */
  sent: number;
  quietSince: number;
  /** Whether a PING waits for its acknowledgement. */
  pinged: boolean;
}

/**
 * Closes sessions that have had no stream for `idleMs`. Sends a PING on those with open streams that have been quiet
 * for half of that, which keeps proxies from cutting them, and destroys those that stay quiet for `idleMs` without an
 * acknowledgement. One timer for all of them: the timer that node offers for each session is restarted with every
 * frame, several times per call.
 */
export function watchIdle(idleMs: number): IdleWatch {
  const sessions = new Map<OpenSession, Seen>();
  const timer = setInterval(
    () => {
      const now = performance.now();
      for (const [open, seen] of sessions) {
        if (open.streams > 0 || open.opened !== seen.opened) {
          seen.opened = open.opened;
          seen.since = now;
          probe(open, seen, now, idleMs);
        } else if (now - seen.since >= idleMs) {
          open.session.close();
        }
      }
    },
    Math.min(MAX_INTERVAL_MS, idleMs / 8),
  ).unref();
  return {
    add(open) {
      const now = performance.now();
      sessions.set(open, { opened: open.opened, since: now, sent: 0, quietSince: now, pinged: false });
      open.session.on("close", () => sessions.delete(open));
    },
    stop: () => clearInterval(timer),
  };
}

function probe({ session, socket }: OpenSession, seen: Seen, now: number, idleMs: number): void {
  const quietMs = now - seen.quietSince;
  if (socket.bytesWritten !== seen.sent) {
    seen.sent = socket.bytesWritten;
    seen.quietSince = now;
  } else if (seen.pinged) {
    if (quietMs >= idleMs) socket.destroy();
  } else if (quietMs >= idleMs / 2 && !session.destroyed) {
    seen.pinged = true;
    session.ping(() => {
      seen.pinged = false;
    });
  }
}
