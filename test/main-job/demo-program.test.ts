import { expect, test } from "vitest";
import { freePort } from "../support/postgres.ts";
import { runProgram } from "../support/program.ts";

test("the demo without a service exits 1 and says where it looked and how to start one there", async () => {
  const port = String(await freePort());
  const run = runProgram("test/demo/demo.ts", [], { PORT: port });
  expect([await run.exit, run.output()]).toEqual([
    1,
    expect.stringContaining(
      `Is the service running at http://localhost:${port}? Start it with: PORT=${port} npm start\n`,
    ),
  ]);
  expect(run.output()).not.toMatch(/^ {4}at /mu);
});
