import { lockDataFolder } from "../../src/app/dev/lock.ts";

// Holds the lock of the folder named on the command line until it is killed.
try {
  lockDataFolder(process.argv[2] ?? "");
  console.log("held");
  setInterval(() => {}, 60_000);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
