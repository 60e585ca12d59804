import { write, writeSync } from "node:fs";
import type { DestinationStream } from "pino";

/** Descriptors of the outputs of a process. */
export const STANDARD_OUTPUT = 1;
export const STANDARD_ERROR = 2;
/** Maximum length of the lines that wait for a reader; further ones are dropped. */
const MAX_WAITING = 16 * 1_048_576;
/** Wait before a full pipe is tried again, milliseconds. */
const RETRY_MS = 100;
/** How long the end of the process waits for a reader, milliseconds. */
const LAST_LINES_MS = 1_000;

/** Whether the pipe takes nothing at present, because its reader is slow. */
const isFull = (error: unknown): boolean => ["EAGAIN", "EBUSY"].includes((error as NodeJS.ErrnoException).code ?? "");

/** An output that takes whole lines. */
export type Output = Pick<DestinationStream, "write">;

const opened = new Map<number, Output>();

/**
 * Returns an output for lines that are written in the background, in their order. Unlike `process.stdout` and pino's
 * own stream it never holds up the process or keeps it from ending: neither for a reader that is gone, nor for one that
 * has stopped reading.
 */
export function openOutput(descriptor: typeof STANDARD_OUTPUT | typeof STANDARD_ERROR): Output {
  const output = opened.get(descriptor) ?? createOutput(descriptor);
  opened.set(descriptor, output);
  return output;
}

function createOutput(descriptor: number): Output {
  let waiting: string[] = [];
  let waitingLength = 0;
  let chunk = Buffer.alloc(0);
  let state: "idle" | "writing" | "full" | "gone" = "idle";

  function takeChunk(): boolean {
    if (chunk.length === 0 && waiting.length > 0) {
      chunk = Buffer.from(waiting.join(""));
      waiting = [];
      waitingLength = 0;
    }
    return chunk.length > 0;
  }

  function fail(error: unknown): void {
    state = isFull(error) ? "full" : "gone";
  }

  function writeNext(): void {
    if (state === "gone") return;
    if (!takeChunk()) {
      state = "idle";
      return;
    }
    state = "writing";
    write(descriptor, chunk, (error, written) => {
      if (error === null) {
        chunk = chunk.subarray(written);
        writeNext();
        return;
      }
      fail(error);
      setTimeout(writeNext, RETRY_MS).unref();
    });
  }

  /** Writes, at the exit, what still waits; not a chunk that is being written. */
  function writeLast(): void {
    if (state === "writing") chunk = Buffer.alloc(0);
    const until = performance.now() + LAST_LINES_MS;
    while (state !== "gone" && takeChunk() && performance.now() < until) {
      try {
        chunk = chunk.subarray(writeSync(descriptor, chunk));
      } catch (error) {
        fail(error);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
      }
    }
  }

  process.on("exit", writeLast);
  return {
    write(line) {
      if (state === "gone" || waitingLength + chunk.length > MAX_WAITING) return;
      waiting.push(line);
      waitingLength += line.length;
      if (state === "idle") writeNext();
    },
  };
}
