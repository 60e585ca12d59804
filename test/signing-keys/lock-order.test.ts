import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { signIn } from "../matrix/world.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { sendInTurn } from "../support/holding.ts";
import { founder, member, outcome } from "../support/people.ts";

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
});
afterAll(() => app.close());

it("an admin creates a signing key while they switch to an account of their device, without a deadlock", async () => {
  const owner = await founder(app);
  const device = randomUUID();
  const { token } = await signIn(app, owner, device);
  const other = await member(app, owner);
  const accounts = `/api/devices/${device}/accounts`;
  const { body: account } = await app.call("POST", accounts, { token, body: { access_token: other.token } });

  const path = `/api/admin/organizations/${owner.org}/signing-keys`;
  const body = { account_id: account.id as string };
  const answers = await sendInTurn(
    app.databaseUrl,
    // The creation has locked the organization by then, and comes to the caller last.
    ["select 1 from signing_keys where org_uuid = $1 for update", owner.org],
    () => app.call("POST", path, { token, body: { algorithm: "ed25519" } }),
    () => app.call("POST", `/api/devices/${device}/active-account`, { token, body }),
  );

  expect(answers.map(outcome)).toEqual(["201", "200"]);
  expect(deadlocks).toEqual([]);
});
