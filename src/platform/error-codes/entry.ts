/** What one error code means, for the documents. */
export interface ErrorEntry {
  /** HTTP statuses it is sent with. */
  readonly status: readonly [number, ...number[]];
  /** What is the case, in one sentence. */
  readonly meaning: string;
  /** What usually causes it. */
  readonly why: string;
  /** What the client does next. */
  readonly remedy: string;
}
