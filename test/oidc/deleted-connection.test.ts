import { afterAll, beforeAll, expect, it } from "vitest";
import { holding } from "../support/holding.ts";
import type { Held } from "../support/holding.ts";
import { auditOf, elevated, founder, outcome } from "../support/people.ts";
import { begin, comeBack, connect, granted, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());

/** Another connection to the provider. */
async function connection(): Promise<string> {
  const { body } = await connect(realm.app, realm.owner, realm.provider.discoveryUrl, { name: "Short" });
  return body.connection_uuid as string;
}

/** Deletes a connection, without a commit, when the service asks the provider for a path. */
function deletedAt(path: string, uuid: string): Promise<Held> {
  const { answers, issuer } = realm.provider;
  return new Promise((resolve, reject) => {
    answers.set(path, (_request, response) => {
      answers.delete(path);
      void (async () => {
        const held = await holding(realm.app.databaseUrl);
        await held.run("delete from oidc_connections where uuid = $1", [uuid]);
        const document = await fetch(`${issuer}${path}`);
        response.writeHead(200, { "content-type": "application/json" }).end(await document.text());
        resolve(held);
      })().catch(reject);
    });
  });
}

it("authorize returns 400 invalid_connection when the connection is deleted while the provider is asked", async () => {
  const uuid = await connection();
  const deleted = deletedAt("/.well-known/openid-configuration", uuid);
  const answer = realm.app.call("GET", `/api/auth/oidc/${uuid}/authorize`);
  const held = await deleted;
  await held.waitedFor();
  await held.commit();
  expect(outcome(await answer)).toBe("400 invalid_connection");
});

it("a callback returns 400 invalid_connection when the connection is deleted while the provider is asked", async () => {
  const uuid = await connection();
  const through = { ...realm, connection: uuid };
  realm.provider.subject = subject("ann");
  const begun = await begin(through);
  const query = granted(through, begun);
  const deleted = deletedAt("/jwks", uuid);
  const answer = comeBack(through, begun.cookie, query);
  const held = await deleted;
  await held.waitedFor();
  await held.commit();
  expect(outcome(await answer)).toBe("400 invalid_connection");
  const [event] = await auditOf(realm.app, realm.owner, "login.oidc");
  const metadata = { code: "invalid_connection", connection_uuid: uuid };
  expect(event).toMatchObject({ outcome: "failure", metadata });
});

it("a connection of a deleted organization signs nobody in, and ends no session", async () => {
  const { app, provider } = realm;
  const owner = await founder(app);
  const { body } = await connect(app, owner, provider.discoveryUrl);
  const through = { ...realm, connection: body.connection_uuid as string };
  const begun = await begin(through);
  const query = granted(through, begun);
  const token = await elevated(app, owner.token);
  expect((await app.call("DELETE", `/api/organizations/${owner.org}`, { token })).status).toBeLessThan(300);
  const path = `/api/auth/oidc/${through.connection}`;
  expect(outcome(await app.call("GET", `${path}/authorize`))).toBe("400 invalid_connection");
  expect(outcome(await comeBack(through, begun.cookie, query))).toBe("400 invalid_connection");
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const logout = await app.call("POST", `${path}/backchannel-logout`, { headers, body: "logout_token=a.b.c" });
  expect(outcome(logout)).toBe("404 not_found");
});
