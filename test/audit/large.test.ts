import { expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { seedEvents } from "./chain-support.ts";

/** `AUDIT_EXPORT_EVENTS=1000000` for the full size. */
const events = Number(process.env["AUDIT_EXPORT_EVENTS"] ?? 60_000);
const MiB = 1024 * 1024;

it(`exports ${events} events in constant memory`, { timeout: 30_000 + events }, async () => {
  const app = await startApp();
  try {
    const by = await founder(app);
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events, from: new Date(Date.now() - 80 * 86_400_000), metadata: JSON.stringify({ text: "x".repeat(400) }) });
    const answer = await app.call("GET", `/api/organizations/${by.org}/audit-events?limit=1`, { token: by.token });
    expect(answer.body.total).toBe(events + 1);
    const response = await fetch(`${app.url}/api/organizations/${by.org}/audit-events/export?format=ndjson`, { headers: { authorization: `Bearer ${by.token}` } });
    let [bytes, lines] = [0, 0];
    // The first half lets the heap find its size; the second must not need more.
    const most = { first: 0, second: 0 };
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      for (const byte of chunk) if (byte === 10) lines++;
      const half = lines < events / 2 ? "first" : "second";
      most[half] = Math.max(most[half], process.memoryUsage.rss());
    }
    expect(lines).toBe(events + 1);
    expect(bytes).toBeGreaterThan(events * 900);
    expect((most.second - most.first) / MiB).toBeLessThan(32);
  } finally {
    await app.close();
  }
});
