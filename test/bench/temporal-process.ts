/**
 * A Temporal of the bench's own as `npm start` runs it (on a file), in a process that can be tied to a core; the server
 * stays on that core too. FOLDER is where its data go.
 */
import { mkdirSync } from "node:fs";
import { startTemporal } from "../../src/app/dev/temporal.ts";
import { findTemporalProgram } from "../../src/app/dev/temporal-program.ts";

const folder = process.env["FOLDER"] ?? "";
mkdirSync(folder, { recursive: true });
const server = await startTemporal({
  folder,
  program: await findTemporalProgram({
    path: process.env["PATH"],
    cacheHome: process.env["XDG_CACHE_HOME"],
    log: (line) => console.log(line),
  }),
  log: () => undefined,
  onFatal: (error) => {
    console.error(error.message);
    process.exit(1);
  },
});
process.on("disconnect", () => void server.stop().then(() => process.exit(0)));
process.send?.({ ready: { address: server.address, namespace: server.namespace } });
