import { decodeJwt } from "jose";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { sendInTurn } from "../support/holding.ts";
import { outcome } from "../support/people.ts";
import { begin, callbackOf, connect, redeem, sessionTokenOf, signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

const { log, deadlocks } = watchDeadlocks();
let realm: Realm;
beforeAll(async () => {
  realm = await startRealm({ log });
});
afterAll(() => realm.close());
beforeEach(() => expect(deadlocks).toEqual([]));

it("a member signs in while an admin deactivates them, without a deadlock", async () => {
  const { app, owner } = realm;
  const { body } = await signIn(realm, subject("ann"));
  const { sub } = decodeJwt(body.access_token as string);
  const waiting = await callbackOf(realm, subject("ann"));

  const answers = await sendInTurn(
    app.databaseUrl,
    // The deactivation has locked the person by then, and comes to their membership next.
    ["select 1 from sessions where uuid = $1 for update", decodeJwt(owner.token)["sid"]],
    () => app.call("PATCH", `/api/users/${sub}`, { token: owner.token, body: { status: "inactive" } }),
    () => redeem(realm, sessionTokenOf(waiting.answer), waiting.cookie),
  );

  expect(answers.map(outcome)).toEqual(["200", "403 forbidden"]);
  expect(deadlocks).toEqual([]);
});

it("a session token is exchanged while its connection is deleted, without a deadlock", async () => {
  const { app, owner, provider } = realm;
  const made = await connect(app, owner, provider.discoveryUrl);
  const connection = made.body.connection_uuid as string;
  const waiting = await callbackOf({ ...realm, connection }, subject("bob"));
  await begin(realm, {}, connection);

  const path = `/api/admin/organizations/${owner.org}/oidc-connections/${connection}`;
  const answers = await sendInTurn(
    app.databaseUrl,
    // The deletion has locked the connection by then, and comes to its session tokens next.
    ["select 1 from oidc_states where connection_uuid = $1 for update", connection],
    () => app.call("DELETE", path, { token: owner.token }),
    () => redeem(realm, sessionTokenOf(waiting.answer), waiting.cookie),
  );

  expect(answers.map(outcome)).toEqual(["204", "401 unauthorized"]);
  expect(deadlocks).toEqual([]);
});
