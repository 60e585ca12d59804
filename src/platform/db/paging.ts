/** A page of a list, validated by the contract (decisions 1.1). */
export interface Page {
  limit: number;
  offset: number;
}

/** Returns the requested page, by default the first 50 items. The contract's field rules check the ranges. */
export function pageOf(request: { limit?: number | undefined; offset?: number | undefined }): Page {
  return { limit: request.limit || 50, offset: request.offset ?? 0 };
}

/** One page of a list that is read as a whole because it is short. */
export function pageOfAll<T>(all: readonly T[], page: Page): { data: T[]; total: number } & Page {
  return { data: all.slice(page.offset, page.offset + page.limit), total: all.length, ...page };
}
