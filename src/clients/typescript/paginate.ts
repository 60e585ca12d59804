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
  limit?: number | undefined;
  nextCursor?: string | undefined;
}

/** Items of a list, page by page as they are read. */
export interface Pages<T> extends AsyncIterable<T> {
  /** Reads all; at most `max`. */
  toArray(options?: { max?: number }): Promise<T[]>;
  /**
   * Where to go on later: pass it as `cursor` in the request. After `toArray` that is the item after the last one. A
   * loop that is left within a page begins that page again. Undefined before the first page, at the end, and for lists
   * without cursors.
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
  const given = request as PageRequest;
  const method = methodOf(call);
  const limit = given.limit ?? largestPage(method);
  const start = given.cursor === "" ? undefined : given.cursor;
  /** Of a function that is not known, the answers show whether the list pages, and how. */
  const mayHave = (name: string): boolean => method === undefined || fieldOf(method, name) !== undefined;
  let cursor: string | undefined;

  async function* read(max: number): AsyncGenerator<T> {
    let offset = given.offset ?? 0;
    let next = start ?? (mayHave("cursor") && offset === 0 ? "" : undefined);
    for (let left = max; left > 0; ) {
      const size = limit === undefined ? undefined : Math.min(limit, Math.ceil(left));
      const place = next === undefined ? { offset } : { cursor: next };
      const page = await call({ ...request, ...(size !== undefined && { limit: size }), ...place });
      const { length } = page.data;
      const following = page.nextCursor === "" ? undefined : page.nextCursor;
      cursor = length === 0 ? following : next;
      for (const [nth, item] of page.data.entries()) {
        if (nth === length - 1) cursor = following;
        yield item;
      }
      left -= length;
      if (following === undefined) {
        const wasByCursor = next !== undefined && (next !== "" || method !== undefined);
        const isWhole = length > 0 && length >= (page.limit ?? size ?? Infinity);
        if (wasByCursor || !isWhole || !mayHave("offset")) return;
        offset += length;
        if (offset > MAX_OFFSET)
          throw new RangeError(
            `The list has more than ${offset} items, and no cursor: narrow the request by a filter.`,
          );
      }
      next = following;
    }
  }

  return {
    [Symbol.asyncIterator]: () => read(Infinity),
    async toArray({ max = Infinity } = {}) {
      const items: T[] = [];
      if (max <= 0) return items;
      for await (const item of read(max)) if (items.push(item) >= max) break;
      return items;
    },
    get cursor() {
      return cursor;
    },
  };
}

function fieldOf(method: DescMethod | undefined, name: string): DescField | undefined {
  return method?.input.fields.find((field) => field.name === name);
}

/** The largest `limit` that the contract allows. */
function largestPage(method: DescMethod | undefined): number | undefined {
  const field = fieldOf(method, "limit");
  return field === undefined ? undefined : getOption(field, rules).max;
}
