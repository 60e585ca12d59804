/** The time without its milliseconds, which certificates do not have. */
export const wholeSeconds = (ms: number): Date => new Date(Math.floor(ms / 1_000) * 1_000);
