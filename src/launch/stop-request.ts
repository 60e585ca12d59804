import { constants } from "node:os";
import type { StartError } from "../platform/start-error.ts";

/** Why the process stops. */
export interface StopReason {
  /** 0 after a signal, else 1. */
  exitCode: number;
  /** The failure; undefined after a signal. */
  error: unknown;
  /** Exit code of a command that the signal kept from its end, as shells have it; undefined after a failure. */
  interruptedCode?: number;
}

/** A request to stop the process, by a signal or a failure. The first one counts. */
export interface StopRequest {
  readonly signal: AbortSignal;
  readonly reason: Promise<StopReason>;
  /** Requests the stop because of an error. */
  fail(error: StartError): void;
}

/**
 * A second signal within this time repeats the first: npm forwards a signal that the whole process group has received.
 */
const ECHO_MS = 1000;

/**
 * Listens for SIGTERM, SIGINT, SIGHUP and uncaught errors.
 * @param onError called with an uncaught error.
 * @param exitNow called for a second signal more than a second after the first; exits the process.
 */
export function listenForStop(onError: (error: unknown) => void, exitNow: () => void): StopRequest {
  const controller = new AbortController();
  let resolve: (reason: StopReason) => void = () => {};
  const reason = new Promise<StopReason>((done) => {
    resolve = done;
  });
  let since: number | undefined;

  function requestStop(why: StopReason): void {
    resolve(why);
    controller.abort();
  }

  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(name, () => {
      const now = performance.now();
      if (since !== undefined && now - since > ECHO_MS) exitNow();
      since ??= now;
      requestStop({ exitCode: 0, error: undefined, interruptedCode: 128 + constants.signals[name] });
    });
  }
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => {
      onError(error);
      requestStop({ exitCode: 1, error });
    });
  }
  return { signal: controller.signal, reason, fail: (error) => requestStop({ exitCode: 1, error }) };
}
