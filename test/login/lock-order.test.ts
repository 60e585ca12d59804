import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { sendInTurn } from "../support/holding.ts";
import { founder, mailsTo, outcome } from "../support/people.ts";

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
});
afterAll(() => app.close());

it("an account is disowned while its address is confirmed, without a deadlock", async () => {
  const { email, userUuid } = await founder(app);
  const text = (await mailsTo(app, email)).map((mail) => mail.text).join();
  const tokenOf = (page: string): string => new RegExp(`/${page}#token=([\\w-]+)`, "u").exec(text)?.[1] ?? "";

  const answers = await sendInTurn(
    app.databaseUrl,
    // The end of the account has locked the person by then, and comes to their sessions.
    ["select 1 from sessions where user_uuid = $1 for update", userUuid],
    () => app.call("POST", "/api/auth/email/disown", { body: { token: tokenOf("disown") } }),
    () => app.call("POST", "/api/auth/email/confirm", { body: { token: tokenOf("confirm-email") } }),
  );

  expect(answers.map(outcome)).toEqual(["204", "401 unauthorized"]);
  expect(deadlocks).toEqual([]);
});
