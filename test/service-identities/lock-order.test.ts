import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { sendInTurn } from "../support/holding.ts";
import { elevated, founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

// One person sends two requests at the same time: both come to their membership, and to what they change.
const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
let owner: Somebody;
let identities: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
  owner = await founder(app);
  owner.token = await elevated(app, owner.token);
  identities = `/api/organizations/${owner.org}/service-identities`;
});
afterAll(() => app.close());
beforeEach(() => expect(deadlocks).toEqual([]));

const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  app.call(method, path, { token: owner.token, body });
const created = async (name: string): Promise<string> =>
  (await call("POST", identities, { name, role_id: 3 })).body.identity_id as string;

it("a person makes a token for an identity while they delete it, without a deadlock", async () => {
  const id = await created("ending");
  const body = { name: "late", identity_id: id };
  const answers = await sendInTurn(
    app.databaseUrl,
    // The creation has locked the identity by then, and comes to the caller last.
    ["lock table automation_tokens in share mode"],
    () => call("POST", `${identities}/automation-token`, body),
    () => call("DELETE", `${identities}/${id}`),
  );
  expect(answers.map(outcome)).toEqual(["201", "204"]);
  expect(deadlocks).toEqual([]);
});

it("a person revokes an SVID while they delete its identity, without a deadlock", async () => {
  const id = await created("revoked");
  const { body: svid } = await call("POST", "/api/auth/spiffe/svid", { service_identity_id: id });
  const answers = await sendInTurn(
    app.databaseUrl,
    ["select 1 from svids where svid_id = $1 for update", svid.svid_id],
    // The revocation has locked the caller by then.
    () => call("DELETE", `/api/auth/spiffe/svids/${svid.svid_id as string}`),
    () => call("DELETE", `${identities}/${id}`),
  );
  expect(answers.map(outcome)).toEqual(["204", "204"]);
  expect(deadlocks).toEqual([]);
});

it("a person renames an identity while they create one with the new name, without a deadlock", async () => {
  const id = await created("before");
  const answers = await sendInTurn(
    app.databaseUrl,
    // The creation has the name by then, and comes to the caller last.
    ["lock table auth_events in share mode"],
    () => call("POST", identities, { name: "after", role_id: 3 }),
    () => call("PATCH", `${identities}/${id}`, { name: "after" }),
  );
  expect(answers.map(outcome)).toEqual(["201", "409 name_taken"]);
  expect(deadlocks).toEqual([]);
});

it("an identity makes a token for another one that ends it, without a deadlock", async () => {
  const robot = async (name: string) => {
    const { body } = await call("POST", identities, { name, role_id: 1 });
    const made = await call("POST", `${identities}/automation-token`, { name, identity_id: body.identity_id });
    const token = made.body.token as string;
    // Its use is recorded by now.
    expect(outcome(await app.call("GET", "/api/auth/me", { token }))).toBe("200");
    return { id: body.identity_id as string, token };
  };
  const [maker, ender] = [await robot(`maker ${randomUUID()}`), await robot(`ender ${randomUUID()}`)];
  const body = { name: "last", identity_id: ender.id };
  const answers = await sendInTurn(
    app.databaseUrl,
    // The creation has locked the other identity by then, and comes to its own last.
    ["lock table auth_events in share mode"],
    () => app.call("POST", `${identities}/automation-token`, { token: maker.token, body }),
    () => app.call("DELETE", `${identities}/${maker.id}`, { token: ender.token }),
  );
  expect(answers.map(outcome)).toEqual(["201", "204"]);
  expect(deadlocks).toEqual([]);
});
