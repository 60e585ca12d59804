import { expect, it } from "vitest";
import { runFaults } from "./fault-run.ts";
import { temporalAway } from "./temporal-away.ts";

it("no acknowledged work is lost or doubled while service, Temporal and PostgreSQL go down", async () => {
  const lines: string[] = [];
  // A fixed number of requests and faults, however long they take.
  const result = await runFaults({
    roles: ["all"],
    installs: 30,
    events: 200,
    buyers: 5,
    lanes: 8,
    spreadMs: 8_000,
    postgresAwayMs: 2_000,
    temporalAwayMs: 1_000,
    pauseMs: 500,
    rounds: 2,
    settleTimeoutMs: 600_000,
    log: (line) => lines.push(line),
  });
  const told = lines.join("\n");
  expect(result.wrong, told).toEqual([]);
  expect(result.left, told).toBe("");
  expect(result.trouble.faults, told).toEqual([]);
  expect(result.trouble.withoutRetryAfter, told).toBe(0);
  expect(result.installs).toBe(30);
  expect(result.delivered).toBeGreaterThan(200 + 2 * 30);
}, 1_800_000);

it("without Temporal installs are accepted and first attempts continue, and all finish after its return", async () => {
  const lines: string[] = [];
  const wrong = await temporalAway({ installs: 10, events: 100, endpoints: 5, drainedMs: 600_000 })((line) =>
    lines.push(line),
  );
  expect(wrong, lines.join("\n")).toEqual([]);
}, 1_800_000);
