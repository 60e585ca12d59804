import type { ServerHttp2Session } from "node:http2";

/** What is known of one connection. */
interface Watched {
  /** Stream whose headers came in whole, the newest. */
  whole: number;
  /** Stream whose headers were begun and not heard of since; 0: none. */
  begun: number;
  /** When that was first noticed, milliseconds of `performance.now()`. */
  since: number;
}

/** Looks after the header blocks of HTTP/2 connections. */
export interface HeaderWatch {
  add(session: ServerHttp2Session): void;
  stop(): void;
}

/**
 * Ends connections whose header block is not whole after `limitMs`. node has a time limit for headers of HTTP/1.1 only
 * and tells nothing of CONTINUATION frames, but its session knows the newest stream that was begun: one that stays
 * ahead of the newest it handed out is either such a trickle or was refused by node itself. That cannot be told apart,
 * so the connection is closed softly: streams that run may end, nothing new is taken, and without any it is over at
 * once. A trickle within the first nine bytes of a frame is not seen here; the idle limit ends it.
 */
export function watchHeaders(limitMs: number): HeaderWatch {
  const sessions = new Map<ServerHttp2Session, Watched>();
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [session, watched] of sessions) look(session, watched, now, limitMs);
  }, limitMs / 4).unref();
  return {
    add(session) {
      const watched: Watched = { whole: 0, begun: 0, since: 0 };
      sessions.set(session, watched);
      session.on("stream", ({ id = 0 }) => {
        if (id > watched.whole) watched.whole = id;
      });
      session.on("close", () => sessions.delete(session));
    },
    stop: () => clearInterval(timer),
  };
}

function look(session: ServerHttp2Session, watched: Watched, now: number, limitMs: number): void {
  const newest = session.state.lastProcStreamID ?? 0;
  if (newest <= watched.whole) {
    watched.begun = 0;
  } else if (newest !== watched.begun) {
    watched.begun = newest;
    watched.since = now;
  } else if (now - watched.since >= limitMs * 0.75 && !session.closed) {
    session.close();
  }
}
