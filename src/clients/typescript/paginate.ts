import { getOption } from "@bufbuild/protobuf";
import type { DescField, DescMethod } from "@bufbuild/protobuf";
import { rules } from "../../../gen/atrium/options/v1/options_pb.ts";
import { methodOf } from "./methods.ts";

/** Parameters of a list. */
interface PageRequest {
  limit?: number | undefined;
  offset?: number | undefined;
  cursor?: string | undefined;
}

/** A page as lists return it. */
interface Page<T> {
  data: T[];
  nextCursor?: string | undefined;
}

/** Items of a list, page by page as they are read. */
export interface Pages<T> extends AsyncIterable<T> {
  /** Reads all; at most `max`. */
  toArray(options?: { max?: number }): Promise<T[]>;
  /**
   * Where the page after the one last fetched begins: pass it as `cursor` in the request to go on later. Undefined
   * before the first page, at the end, and for lists without cursors.
   */
  readonly cursor: string | undefined;
}

/** Lists that are read by offset end here. */
const MAX_OFFSET = 10_000;

/**
 * Reads a list to its end: by cursor where the list has one, else by offset. All other parameters of the request are
 * kept; pages are as large as the list allows, unless the request says otherwise.
 */
export function paginate<Request extends object, T>(
  call: (request: Request) => Promise<Page<T>>,
  request: Request,
): Pages<T> {
  const method = methodOf(call);
  const limit = (request as PageRequest).limit ?? largestPage(method);
  const byCursor = (request as PageRequest).cursor !== undefined || fieldOf(method, "cursor") !== undefined;
  const base = { ...request, ...(limit !== undefined && { limit }) };
  let cursor: string | undefined;

  async function* byCursors(): AsyncGenerator<T> {
    let next = (request as PageRequest).cursor ?? "";
    for (;;) {
      const page = await call({ ...base, cursor: next });
      cursor = page.nextCursor === "" ? undefined : page.nextCursor;
      yield* page.data;
      if (cursor === undefined) return;
      next = cursor;
    }
  }

  async function* byOffset(): AsyncGenerator<T> {
    let offset = (request as PageRequest).offset ?? 0;
    for (;;) {
      const page = await call({ ...base, offset });
      yield* page.data;
      const size = (page as { limit?: number }).limit ?? limit ?? page.data.length;
      if (page.data.length === 0 || page.data.length < size) return;
      offset += page.data.length;
      if (offset > MAX_OFFSET)
        throw new RangeError(`The list has more than ${offset} items, and no cursor: narrow the request by a filter.`);
    }
  }

  const pages: Pages<T> = {
    [Symbol.asyncIterator]: byCursor ? byCursors : byOffset,
    async toArray({ max = Number.POSITIVE_INFINITY } = {}) {
      const items: T[] = [];
      if (max <= 0) return items;
      for await (const item of pages) if (items.push(item) >= max) break;
      return items;
    },
    get cursor() {
      return cursor;
    },
  };
  return pages;
}

function fieldOf(method: DescMethod | undefined, name: string): DescField | undefined {
  return method?.input.fields.find((field) => field.name === name);
}

/** The largest `limit` that the contract allows. */
function largestPage(method: DescMethod | undefined): number | undefined {
  const field = fieldOf(method, "limit");
  return field === undefined ? undefined : getOption(field, rules).max;
}
