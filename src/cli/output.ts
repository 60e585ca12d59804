/** Where a command reads and writes. */
export interface Terminal {
  /** Prints a line to standard output, and to standard error. */
  say(line: string): void;
  complain(line: string): void;
  readonly input: NodeJS.ReadStream;
  /** Folders in which relative paths are looked up, in this order. */
  readonly folders: readonly string[];
}

/** A mistake that the person at the terminal can fix: it is printed as one line. */
export class CommandError extends Error {}

/** Exit code of a command that could not do its work. */
export const FAILED = 2;

/** Runs a command; an error is printed as one line. @returns the exit code */
export async function runCommand(terminal: Terminal, command: () => Promise<number>): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    terminal.complain(`atrium: ${error.message}`);
    return FAILED;
  }
}
