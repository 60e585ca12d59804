import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { sendInTurn } from "../support/holding.ts";
import { founder, outcome, password } from "../support/people.ts";

// A person signs out while another request in the same session has still to be committed.
const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
});
afterAll(() => app.close());
beforeEach(() => expect(deadlocks).toEqual([]));

type Post = (path: string, body?: unknown) => Promise<Answer>;

/** What is posted last, before the person signs out. */
const requests: Record<string, (post: Post) => Promise<[path: string, body: unknown]>> = {
  "step up": async (post) => {
    const { body } = await post("/api/auth/step-up/challenge", { method: "password" });
    return ["/api/auth/step-up/verify", { challenge_id: body.challenge_id, password }];
  },
  "enrol a factor": async (post) => {
    const { id, secret } = (await post("/api/v1/me/mfa/factors", { factor_type: "totp" })).body.data;
    return [`/api/v1/me/mfa/factors/${id}/verify`, { code: codeAt(secret, app.clock.now()) }];
  },
  "create an organization": () => Promise.resolve(["/api/organizations", { name: "A further one" }]),
};

it.each(Object.keys(requests))("a person can %s and sign out at the same time without a deadlock", async (what) => {
  const { token } = await founder(app);
  const post: Post = (path, body) => app.call("POST", path, { token, body });
  const [path, body] = (await requests[what]?.(post)) ?? [""];

  const [request, logout] = await sendInTurn(
    app.databaseUrl,
    // The request has locked the session by then, and records its event.
    ["lock table auth_events in share mode"],
    () => post(path, body),
    () => post("/api/auth/logout"),
  );

  expect(request.status).toBeLessThan(300);
  expect(outcome(logout)).toBe("204");
  expect(deadlocks).toEqual([]);
});
