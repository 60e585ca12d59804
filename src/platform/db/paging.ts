/** A page of a list, validated by the contract (decisions 1.1, 17.6). */
export interface Page {
  limit: number;
  /** Ignored beside a cursor. */
  offset: number;
  /** Text that the items contain, without regard to case. */
  q?: string | undefined;
  /** `field` or `-field`. */
  sort?: string | undefined;
  /** Where the page begins; empty to start. */
  cursor?: string | undefined;
}

/**
 * Returns the requested page, by default the first 50 items. The contract's field rules check the ranges. Empty texts
 * count as absent, `cursor` apart.
 */
export function pageOf(request: {
  limit?: number | undefined;
  offset?: number | undefined;
  q?: string | undefined;
  sort?: string | undefined;
  cursor?: string | undefined;
}): Page {
  const { limit, offset = 0, q, sort, cursor } = request;
  const page = { limit: limit || 50, offset: cursor === undefined ? offset : 0 };
  return { ...page, q: q || undefined, sort: sort || undefined, cursor };
}

/** Orders of a short list by field, as what its items are compared by. */
export type Orders<T> = Readonly<Record<string, (item: T) => string | number>>;

/** One page of a list that is read as a whole because it is short: filtered by `text`, in one of its `orders`. */
export function pageOfAll<T>(
  all: readonly T[],
  { limit, offset, q, sort }: Page,
  text: (item: T) => string,
  orders: Orders<T>,
): { data: T[]; total: number; limit: number; offset: number } {
  const wanted = q?.toLowerCase();
  const found = wanted === undefined ? all : all.filter((item) => text(item).toLowerCase().includes(wanted));
  const order = sort === undefined ? undefined : orders[sort.replace(/^-/u, "")];
  const sign = sort?.startsWith("-") === true ? -1 : 1;
  const compare = (a: T, b: T): number => {
    const [left, right] = [order?.(a) ?? 0, order?.(b) ?? 0];
    return left === right ? 0 : sign * (left < right ? -1 : 1);
  };
  const ordered = order === undefined ? found : found.toSorted(compare);
  return { data: ordered.slice(offset, offset + limit), total: found.length, limit, offset };
}
