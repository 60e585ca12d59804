/** A reason not to start or continue that the operator can fix. It is printed as one line, without a stack. */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message.replaceAll(/\s+/g, " ").trim(), cause === undefined ? undefined : { cause });
    this.name = "StartError";
  }
}
