import type { StartError } from "../platform/start-error.ts";

/** Why the process is to end. */
export interface StopReason {
  /** 0 for a signal, else 1. */
  exitCode: number;
  /** One line for a person; undefined for a signal. */
  error: unknown;
}

/** A wish to end the process, from a signal or a failure; the first one counts. */
export interface StopRequest {
  readonly signal: AbortSignal;
  readonly reason: Promise<StopReason>;
  /** Ends the process because of an error. */
  fail(error: StartError): void;
}

/** A second signal sooner than this is an echo: npm passes on what the whole group got already. Milliseconds. */
const ECHO_MS = 1000;

/**
 * Listens for SIGTERM, SIGINT, SIGHUP, and for errors nobody caught.
 * @param onError told of an error nobody caught.
 * @param endNow called for a second signal more than a second after the first; ends the process.
 */
export function listenForStop(onError: (error: unknown) => void, endNow: () => void): StopRequest {
  const controller = new AbortController();
  let resolve: (reason: StopReason) => void = () => {};
  const reason = new Promise<StopReason>((done) => {
    resolve = done;
  });
  let since: number | undefined;

  function ask(why: StopReason): void {
    resolve(why);
    controller.abort();
  }

  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(name, () => {
      const now = performance.now();
      if (since !== undefined && now - since > ECHO_MS) endNow();
      since ??= now;
      ask({ exitCode: 0, error: undefined });
    });
  }
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => {
      onError(error);
      ask({ exitCode: 1, error });
    });
  }
  // Whoever read our output may leave; that is no reason to end.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  return { signal: controller.signal, reason, fail: (error) => ask({ exitCode: 1, error }) };
}
