import { ScalarType } from "@bufbuild/protobuf";
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

/** The part of a list that is asked for. */
export interface Part extends Pick<ListState, "q" | "sort" | "filters"> {
  limit: number;
  offset: number;
  /** Where the part begins, instead of `offset`; empty at the start of the list. */
  cursor?: string | undefined;
}

/** A list of the service. Its response has the rows in `data`. */
export interface Source<I extends DescMessage, O extends DescMessage> {
  method: DescMethodUnary<I, O>;
  /** What every request says besides which part is asked for. */
  input?: MessageInitShape<I>;
}

/** A row of a list. */
export type RowOf<O extends DescMessage> = MessageShape<O> extends { data: (infer R)[] } ? R : never;

/** The request for a part of a list: of the part, the fields that its rpc takes. */
export function requestOf<I extends DescMessage, O extends DescMessage>(
  { method, input }: Source<I, O>,
  { q, sort, filters, ...place }: Part,
): MessageInitShape<I> {
  const given: Readonly<Record<string, string | number | undefined>> = {
    ...filters,
    ...place,
    q: q || undefined,
    sort: sort || undefined,
  };
  const fields = method.input.fields.flatMap(({ name, localName, scalar }) => {
    const value = given[name];
    if (value === undefined) return [];
    return [[localName, scalar === ScalarType.BOOL ? value === "true" : value] as const];
  });
  return { ...input, ...Object.fromEntries(fields) } as MessageInitShape<I>;
}

/** The rows of a response. */
export const rowsOf = <O extends DescMessage>(answer: MessageShape<O>): readonly RowOf<O>[] =>
  (answer as unknown as { data: RowOf<O>[] }).data;

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
export const isSearchable = ({ input }: DescMethodUnary): boolean => "q" in input.field;

const START: Place = { row: 0, cursor: "" };

/**
 * Reads a list to its end, in pieces as large as the contract allows: by cursor where it has one, so that rows that are
 * made or go meanwhile shift nothing, else by offset. Waits while the service refuses requests for their number.
 * @throws {TooManyRows} when the list is longer than offsets reach
 */
export async function* readPieces<I extends DescMessage, O extends DescMessage>(
  source: Source<I, O>,
  list: Pick<Part, "q" | "sort" | "filters">,
  { signal, onWait, from = START, to = Infinity }: ReadOptions,
): AsyncGenerator<Piece<RowOf<O>>> {
  const { method } = source;
  const byCursor = hasCursors(method);
  const { limit: field } = method.input.field;
  const most = (field && rulesOf(field)?.max) ?? PAGE;
  let { row, cursor } = from;
  while (row < to) {
    const limit = Math.min(most, to - row);
    const input = requestOf(source, { ...list, limit, ...(byCursor ? { offset: 0, cursor } : { offset: row }) });
    const call = () => transport.unary(method, signal, undefined, undefined, input);
    const { message } = await patiently(call, signal, onWait);
    const found = rowsOf(message);
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
