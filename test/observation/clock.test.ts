import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

interface Line {
  level: string;
  msg: string;
  difference_seconds?: number;
}

const lines: Line[] = [];
const log = createLog({ level: "info", destination: { write: (text) => void lines.push(JSON.parse(text) as Line) } });
let aheadMs = 0;
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ log, clock: { now: () => Date.now() + aheadMs, isMachine: true } });
});
afterAll(() => app.close());

const ofClock = () => lines.filter(({ msg }) => msg.startsWith("The clock "));
const until = (msg: string) => expect.poll(() => ofClock().at(-1)?.msg).toBe(msg);

test("an instance says once that its clock differs from the database's, and when it is right again", async () => {
  aheadMs = 600_000;
  await until("The clock is ahead of the database's");
  expect(ofClock()).toMatchObject([{ level: "warn", difference_seconds: 600 }]);
  const metrics = await app.call("GET", "/metrics");
  expect(Number(/^atrium_clock_difference_seconds (\S+)$/mu.exec(metrics.text)?.[1])).toBeCloseTo(600, -1);
  aheadMs = -60_000;
  await until("The clock is behind the database's");
  expect(ofClock().at(-1)).toMatchObject({ level: "warn", difference_seconds: 60 });
  aheadMs = 2_000;
  await until("The clock is in order again");
  expect(ofClock()).toHaveLength(3);
});
