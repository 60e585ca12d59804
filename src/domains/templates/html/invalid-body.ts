/** A body that cannot be a template; the message says why, in words for its author. */
export class InvalidBody extends Error {}
