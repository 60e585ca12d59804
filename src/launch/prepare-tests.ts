import { StartError } from "../platform/start-error.ts";
import { findTemporalProgram } from "../app/dev/temporal-program.ts";

// Runs before the tests, which have time limits: getting the Temporal server may take minutes, once.
try {
  await findTemporalProgram({
    path: process.env["PATH"],
    cacheHome: process.env["XDG_CACHE_HOME"],
    log: (line) => console.log(`atrium: ${line}`),
  });
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
