import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { sendInTurn } from "../support/holding.ts";
import { founder, member, outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { appPath, must, publish } from "./stage.ts";

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
});
afterAll(() => app.close());

it.each(["a", "another"])(
  "a member who is removed while they receive %s grant of app administration keeps none, without a deadlock",
  async (which) => {
    const owner = await founder(app);
    const { appId } = await publish(app, owner.token);
    const { userUuid } = await member(app, owner);
    const grant = { token: owner.token, body: { user_uuid: userUuid } };
    if (which === "another") must(await app.call("POST", appPath(appId, "/admins"), grant));

    const answers = await sendInTurn(
      app.databaseUrl,
      // The removal has deleted their grants by then, and comes to their membership.
      ["select 1 from memberships where user_uuid = $1 for share", userUuid],
      () => app.call("DELETE", `/api/users/${userUuid}`, { token: owner.token }),
      () => app.call("POST", appPath(appId, "/admins"), grant),
    );

    expect(answers.map(outcome)).toEqual(["204", "404 user_not_found"]);
    expect(deadlocks).toEqual([]);
    expect(await runSql(app.databaseUrl, "select 1 from app_admins where user_uuid = $1", [userUuid])).toEqual([]);
  },
);
