import { startPostgres } from "../../src/app/dev/postgres.ts";

// Runs PostgreSQL on the folder named on the command line until it is killed.
await startPostgres({
  folder: process.argv[2] ?? "",
  settings: { fsync: "off" },
  log: () => {},
  onFatal: () => process.exit(1),
});
console.log("up");
