/** A reason not to start or not to go on that a person can act on: printed as one line, without a stack. */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message.replaceAll(/\s+/g, " ").trim(), cause === undefined ? undefined : { cause });
    this.name = "StartError";
  }
}
