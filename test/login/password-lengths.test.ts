import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, invite, newcomer, outcome, password, tokenTo } from "../support/people.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

const post = (path: string, body: unknown): Promise<Answer> => app.call("POST", path, { body });
let made = 0;

/** Every way to set a password; resolves to the outcome, and whose password it is. */
const ways: Record<string, (wanted: string) => Promise<[string, string]>> = {
  "a sign-up": async (wanted) => {
    const email = `long${++made}@lengths.test`;
    const body = { name: `Lengths ${made}`, email, password: wanted, first_name: "Lee" };
    return [outcome(await post("/api/organizations", body)), email];
  },
  "an accepted invitation": async (wanted) => {
    const email = `long${++made}@lengths.test`;
    const { token } = await invite(app, await founder(app), email);
    return [outcome(await post("/api/auth/invite/accept", { token, ...newcomer(), password: wanted })), email];
  },
  "a reset": async (wanted) => {
    const { email } = await founder(app);
    await post("/api/auth/password/forgot", { email });
    return [
      outcome(await post("/api/auth/password/reset", { token: await tokenTo(app, email), password: wanted })),
      email,
    ];
  },
  "a change": async (wanted) => {
    const { email, token } = await founder(app);
    const body = { current_password: password, new_password: wanted };
    return [outcome(await app.call("PUT", "/api/profile/password", { token, body })), email];
  },
};

it.each(Object.entries(ways))("%s counts code points, and compares every one of a long password", async (_way, set) => {
  expect((await set("\u{1F600}".repeat(7)))[0]).toBe("400 validation_error");
  const opens = async (email: string, entered: string) =>
    (await post("/api/auth/login", { email, password: entered })).status;
  for (const wanted of ["\u{1F600}\u{1F511}".repeat(4), `${"x".repeat(127)}\u{1F600}`, `${"x".repeat(300)}y`]) {
    const [answer, email] = await set(wanted);
    expect(answer).toMatch(/^20[014]$/u);
    expect(await opens(email, wanted)).toBe(200);
    expect(await opens(email, [...wanted].slice(0, -1).join(""))).toBe(401);
    expect(await opens(email, `${[...wanted].slice(0, -1).join("")}z`)).toBe(401);
  }
});
