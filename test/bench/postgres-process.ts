/**
 * A PostgreSQL of the bench's own with the service's usual settings (it does wait for the disk), in a process that
 * can be tied to a core; its backends stay on that core too. FOLDER is where its data go.
 */
import { startPostgres } from "../../src/app/dev/postgres.ts";
import { databaseUrl, runSql } from "../support/postgres.ts";
import { COUNTING_SETTINGS } from "./statements.ts";

const server = await startPostgres({
  folder: process.env["FOLDER"] ?? "",
  settings: COUNTING_SETTINGS,
  log: () => undefined,
  onFatal: (error) => {
    console.error(error.message);
    process.exit(1);
  },
});
await runSql(server.url, "create database bench_baseline");
process.on("disconnect", () => void server.stop().then(() => process.exit(0)));
process.send?.({ ready: { url: server.url, baselineUrl: databaseUrl(server.url, "bench_baseline") } });
