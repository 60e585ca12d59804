import { constants } from "node:os";
import type { StartError } from "../platform/start-error.ts";
import { STOP_SIGNALS } from "../platform/stop-signals.ts";

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
/** Interval of the check that the parent process is still there, milliseconds. */
const PARENT_MS = 1000;

/** Settings of {@link listenForStop}. */
export interface StopOptions {
  /** Called with an uncaught error. */
  onError(error: unknown): void;
  /** Called for a second signal more than a second after the first; exits the process. */
  exitNow(): void;
  /**
   * Process id of a parent whose end stops the program too, like SIGHUP; undefined for none. npm passes on SIGTERM and
   * SIGINT alone: any other signal ends npm and would leave the program behind.
   */
  parent: number | undefined;
}

/** Listens for {@link STOP_SIGNALS} and uncaught errors. */
export function listenForStop({ onError, exitNow, parent }: StopOptions): StopRequest {
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

  function stopBy(name: (typeof STOP_SIGNALS)[number]): void {
    requestStop({ exitCode: 0, error: undefined, interruptedCode: 128 + constants.signals[name] });
  }

  for (const name of STOP_SIGNALS) {
    process.on(name, () => {
      const now = performance.now();
      if (since !== undefined && now - since > ECHO_MS) exitNow();
      since ??= now;
      stopBy(name);
    });
  }
  if (parent !== undefined) {
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      stopBy("SIGHUP");
    }, PARENT_MS).unref();
  }
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => {
      onError(error);
      requestStop({ exitCode: 1, error });
    });
  }
  return { signal: controller.signal, reason, fail: (error) => requestStop({ exitCode: 1, error }) };
}
