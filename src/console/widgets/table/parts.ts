import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { failureOf } from "../../session/failures.ts";
import { transport } from "../../session/session.ts";
import { rulesOf } from "../form/rules.ts";
import type { ListState } from "./use-list.ts";

/** Rows of a page. */
export const PAGE = 50;
/** The most that a list skips by `offset`. */
export const MOST_OFFSET = 10_000;
/** The last page that is read by offset; those after it are read by cursor. */
export const LAST_BY_OFFSET = MOST_OFFSET / PAGE + 1;

/** What the page has to ask for: the state of the list, and which part. */
export interface Part extends Pick<ListState, "q" | "sort" | "filters"> {
  limit: number;
  offset: number;
}

/** A list of the service: its rpc, and how a table asks for rows and finds them in the response. */
export interface Source<I extends DescMessage, O extends DescMessage, R> {
  method: DescMethodUnary<I, O>;
  request: (part: Part) => MessageInitShape<I>;
  rows: (answer: MessageShape<O>) => readonly R[];
}

/** What all responses of lists have, where the contract gives it to them. */
export interface Paged {
  total?: number;
  totalIsEstimate?: boolean;
  nextCursor?: string;
}

/** Where a part of a list begins. */
export interface Place {
  /** Rows before it. */
  row: number;
  /** Of a list with cursors; empty at its start. */
  cursor: string;
}

/** Rows read in one piece. */
export interface Piece<R> {
  rows: readonly R[];
  /** Number of rows of the list, where the service gives it. */
  total: number | undefined;
  /** Where the next piece begins; undefined at the end of the list. */
  next: Place | undefined;
}

interface ReadOptions {
  signal: AbortSignal;
  /** Told for how many seconds the service wants no requests. */
  onWait: (seconds: number) => void;
  /** Where to begin; the start of the list when left out. */
  from?: Place;
  /** Stop at this row. */
  to?: number;
}

/** Rows that a list without cursors keeps from being read to its end. */
export class TooManyRows extends Error {}

export const hasCursors = ({ input }: DescMethodUnary): boolean => "cursor" in input.field;

const START: Place = { row: 0, cursor: "" };

/**
 * Reads a list to its end, in pieces as large as the contract allows: by cursor where it has one, so that rows that are
 * made or go meanwhile shift nothing, else by offset. Waits while the service refuses requests for their number.
 * @throws {TooManyRows} when the list is longer than offsets reach
 */
export async function* readPieces<I extends DescMessage, O extends DescMessage, R>(
  { method, request, rows }: Source<I, O, R>,
  list: Pick<Part, "q" | "sort" | "filters">,
  { signal, onWait, from = START, to = Infinity }: ReadOptions,
): AsyncGenerator<Piece<R>> {
  const byCursor = hasCursors(method);
  const { limit: field } = method.input.field;
  const most = (field && rulesOf(field)?.max) ?? PAGE;
  let { row, cursor } = from;
  while (row < to) {
    const limit = Math.min(most, to - row);
    const part = request({ ...list, limit, offset: byCursor ? 0 : row });
    const input = byCursor ? ({ ...part, cursor } as MessageInitShape<I>) : part;
    const call = () => transport.unary(method, signal, undefined, undefined, input);
    const { message } = await patiently(call, signal, onWait);
    const found = rows(message);
    const { total, nextCursor } = message as Paged;
    row += found.length;
    const isLast = byCursor ? nextCursor === undefined : found.length < limit || row === total;
    cursor = nextCursor ?? "";
    yield { rows: found, total, next: isLast ? undefined : { row, cursor } };
    if (isLast) return;
    if (!byCursor && row > MOST_OFFSET) throw new TooManyRows();
  }
}

/** Repeats a call that was refused for the number of requests, when the service takes it again. */
async function patiently<T>(call: () => Promise<T>, signal: AbortSignal, onWait: ReadOptions["onWait"]): Promise<T> {
  for (;;)
    try {
      return await call();
    } catch (error) {
      const { code, retryAfter = 1 } = failureOf(error);
      if (code !== "rate_limited") throw error;
      onWait(retryAfter);
      await pause(retryAfter * 1_000, signal);
    }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
