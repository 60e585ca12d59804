import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { elevated, founder } from "../support/people.ts";
import { signIn, works } from "./support.ts";

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const rounds = 4;

/**
 * Starts a call every few milliseconds, ends the sessions among them, and returns how many of the issued tokens
 * still work.
 */
async function leaks(
  everyMs: number,
  open: (on: TestApp, at: number) => Promise<Answer>,
  end: () => Promise<Answer>,
): Promise<number> {
  const calls = Array.from({ length: 30 }, async (_, at) => {
    await new Promise((resolve) => setTimeout(resolve, at * everyMs));
    return open(at % 2 === 0 ? app : second, at);
  });
  await new Promise((resolve) => setTimeout(resolve, 12));
  expect((await end()).status).toBeLessThan(300);
  const given = (await Promise.all(calls)).flatMap(({ status, body }) =>
    status < 300 ? [body.access_token as string] : [],
  );
  return (await Promise.all(given.map((token) => works(app, token)))).filter(Boolean).length;
}

describe("a session that is opened concurrently", () => {
  it("a session that switching opens ends with all sessions of the organization", async () => {
    for (let round = 0; round < rounds; round++) {
      const [ann, device] = [await founder(app), randomUUID()];
      const { token } = await signIn(app, ann, device);
      const { body } = await app.call("GET", `/api/devices/${device}/accounts`, { token });
      const account_id = body.data[0].id as string;
      const admin = await elevated(app, (await signIn(app, ann)).token);
      expect(
        await leaks(
          1,
          (on) => on.call("POST", `/api/devices/${device}/active-account`, { token, body: { account_id } }),
          () => app.call("POST", `/api/organizations/${ann.org}/revoke-all-sessions`, { token: admin }),
        ),
      ).toBe(0);
    }
  });
});
