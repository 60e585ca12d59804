import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { seedEvents } from "./chain-support.ts";

/** `AUDIT_EXPORT_EVENTS=1000000` for the full size. */
const events = Number(process.env["AUDIT_EXPORT_EVENTS"] ?? 60_000);

/** Bytes this process holds on to: heap and buffers, after a collection. */
function heldMemory(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}

it(`exports ${events} events in constant memory`, { timeout: 600_000 + 10 * events }, async () => {
  const app = await startApp();
  try {
    const by = await founder(app);
    await seedEvents(app.databaseUrl, {
      orgUuid: by.org,
      events,
      from: new Date(Date.now() - 80 * 86_400_000),
      metadata: JSON.stringify({ text: "x".repeat(400) }),
    });
    const answer = await app.call("GET", `/api/organizations/${by.org}/audit-events?limit=1`, { token: by.token });
    expect(answer.body.total).toBe(events + 1);
    const response = await fetch(`${app.url}/api/organizations/${by.org}/audit-events/export?format=ndjson`, {
      headers: { authorization: `Bearer ${by.token}` },
    });
    let [bytes, lines] = [0, 0];
    // The least that is held after collections in an early and in a late fifth: what is in flight comes and goes, but
    // an export that kept what it has sent would have grown by all that passed in between.
    const least = { early: Infinity, late: Infinity };
    let next = 0.1;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      for (const byte of chunk) if (byte === 10) lines++;
      const done = lines / events;
      if (done < next) continue;
      next = done + 0.02;
      if (done < 0.3) least.early = Math.min(least.early, heldMemory());
      else if (done > 0.75) least.late = Math.min(least.late, heldMemory());
    }
    expect(lines).toBe(events + 1);
    expect(bytes).toBeGreaterThan(events * 900);
    expect(least.late - least.early).toBeLessThan(bytes / 4);
  } finally {
    await app.close();
  }
});
