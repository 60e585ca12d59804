import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { signIn } from "../sessions/support.ts";

const DAY_MS = 86_400_000;

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

it("a date alone is the beginning of its day in UTC, for every list, export and statistic", async () => {
  const by = await founder(app);
  const midnight = (Math.floor(app.clock.now() / DAY_MS) + 1) * DAY_MS;
  const day = new Date(midnight).toISOString().slice(0, 10);
  app.clock.set(midnight - 1);
  await signIn(app, by);
  app.clock.set(midnight);
  const { token } = await signIn(app, by);
  const org = `/api/organizations/${by.org}/audit-events`;
  const read = async (path: string, query: string) => {
    const answer = await app.call("GET", `${path}?${query}`, { token });
    expect(answer.status, answer.text).toBe(200);
    return answer.body;
  };
  const last = new Date(midnight - 1).toISOString();
  const times = (rows: { type: string; created_at: string }[]): number[] =>
    rows.filter(({ type }) => type === "login.password").map(({ created_at: at }) => Date.parse(at));
  for (const path of ["/api/auth/events", `/api/admin/organizations/${by.org}/auth-events`, org, `${org}/export`]) {
    expect([path, times((await read(path, `from=${day}`)).data)]).toEqual([path, [midnight]]);
    expect([path, times((await read(path, `to=${day}`)).data)]).toEqual([path, [midnight - 1]]);
    expect(times((await read(path, `from=${last}&to=${day}`)).data)).toEqual([midnight - 1]);
  }
  app.clock.advance(DAY_MS);
  const until = new Date(midnight + DAY_MS).toISOString().slice(0, 10);
  const later = await signIn(app, by);
  const query = `from=${day}&to=${until}&bucket=day&type=login.password`;
  const stats = await app.call("GET", `${org}/stats?${query}`, { token: later.token });
  expect(stats.body).toMatchObject({ from: `${day}T00:00:00Z`, data: [{ success: 1, failure: 0 }] });
});
