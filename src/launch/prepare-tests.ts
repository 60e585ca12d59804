import { StartError } from "../platform/start-error.ts";
import { temporalProgram } from "../app/dev/temporal-program.ts";

// Before anything with a time limit runs: getting the Temporal server may take minutes, once.
try {
  await temporalProgram({
    path: process.env["PATH"],
    cacheHome: process.env["XDG_CACHE_HOME"],
    log: (line) => console.log(`atrium: ${line}`),
  });
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
