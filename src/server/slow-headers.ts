import type { OpenSession } from "./open-streams.ts";

/** The state of one connection. */
interface Watched {
  /** The newest stream whose headers are complete. */
  whole: number;
  /** The stream whose headers have begun and are not complete; 0: none. */
  begun: number;
  /** When that was first seen, `performance.now()`. */
  since: number;
}

/** Limits the time for header blocks of HTTP/2 connections. */
export interface HeaderWatch {
  /** Returns a function to be called with the id of each stream whose headers are complete. */
  add(open: OpenSession): (id: number) => void;
  stop(): void;
}

/**
 * Ends connections whose header block is not complete after `limitMs`. Node limits the time for headers of HTTP/1.1
 * only and does not report CONTINUATION frames, but its session knows the newest stream that has begun. One that stays
 * ahead of the newest stream it emitted is either such a slow block or was refused by node itself. The two cannot be
 * told apart, so the session is closed gracefully: running streams may end, no new ones are accepted. A session that
 * waits for the block alone is destroyed at the next look. A slow block within the first nine bytes of a frame is not
 * detected here; the idle limit ends it.
 */
export function watchHeaders(limitMs: number): HeaderWatch {
  const sessions = new Map<OpenSession, Watched>();
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [open, watched] of sessions) look(open, watched, now, limitMs);
  }, limitMs / 4).unref();
  return {
    add(open) {
      const watched: Watched = { whole: 0, begun: 0, since: 0 };
      sessions.set(open, watched);
      open.session.on("close", () => sessions.delete(open));
      return (id) => {
        if (id > watched.whole) watched.whole = id;
      };
    },
    stop: () => clearInterval(timer),
  };
}

function look({ session, streams }: OpenSession, watched: Watched, now: number, limitMs: number): void {
  const newest = session.state.lastProcStreamID ?? 0;
  if (newest <= watched.whole) {
    watched.begun = 0;
  } else if (newest !== watched.begun) {
    watched.begun = newest;
    watched.since = now;
  } else if (now - watched.since >= limitMs * 0.75) {
    if (!session.closed) session.close();
    // Node counts the stream that has begun as open, and would wait for it without an end.
    else if (streams === 0) session.destroy();
  }
}
