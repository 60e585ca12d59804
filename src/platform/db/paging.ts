/** A window on a list, as the contract has checked it (decisions 1.1). */
export interface Page {
  limit: number;
  offset: number;
}

/** Absent values: the first 50. Ranges are rules of the contract's fields. */
export function pageOf(request: { limit?: number | undefined; offset?: number | undefined }): Page {
  return { limit: request.limit || 50, offset: request.offset ?? 0 };
}
