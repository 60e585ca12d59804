import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { auditOf, elevated, founder, mailsTo, member, outcome, tokenTo } from "../support/people.ts";
import { callbackOf, connect, sessionTokenOf, signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm({ env: { SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
});
afterAll(() => realm.close());

const post = (path: string, body: unknown, token?: string) => realm.app.call("POST", path, { body, token });

/**
 * An unconfirmed account with an identity of its maker linked, in an organization of its own; another owner keeps the
 * connection alive.
 */
async function prepared(sub: string): Promise<Realm> {
  const owner = await founder(realm.app);
  const { userUuid } = await member(realm.app, owner, 1);
  const token = await elevated(realm.app, owner.token);
  expect(outcome(await realm.app.call("PATCH", `/api/users/${userUuid}`, { token, body: { is_owner: true } }))).toBe(
    "200",
  );
  const { body } = await connect(realm.app, owner, realm.provider.discoveryUrl);
  const theirs = { ...realm, owner, connection: body.connection_uuid as string };
  const { cookie, answer } = await callbackOf(theirs, subject(sub));
  const linked = await realm.app.call("POST", "/api/auth/oidc/link", {
    token: owner.token,
    body: { session_token: sessionTokenOf(answer) },
    headers: { cookie },
  });
  expect(linked.status).toBe(204);
  expect(await personBehind(theirs, sub)).toBe(owner.userUuid);
  return theirs;
}

/** The person an identity signs in; undefined where it signs in nobody. */
async function personBehind(theirs: Realm, sub: string): Promise<unknown> {
  const { status, body } = await signIn(theirs, subject(sub));
  return status === 200 ? decodeJwt(body.access_token as string).sub : undefined;
}

const proofs: [string, (email: string) => Promise<number>][] = [
  [
    "a magic link",
    async (email) => {
      const { body } = await post("/api/auth/magic-link/send", { email });
      return (await post("/api/auth/magic-link/verify", { token: body.dev_token })).status;
    },
  ],
  [
    "a mailed code",
    async (email) => {
      await post("/api/auth/otp", { email });
      const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(realm.app, email)).at(-1)?.text ?? "")?.[1];
      return (await post("/api/auth/otp/verify", { email, code })).status;
    },
  ],
  [
    "a password reset",
    async (email) => {
      await post("/api/auth/password/forgot", { email });
      const token = await tokenTo(realm.app, email);
      return (await post("/api/auth/password/reset", { token, password: "the owner's own password" })).status;
    },
  ],
];

describe("an identity that the maker of an unconfirmed account has linked", () => {
  it.each(proofs)("it no longer signs in once the mailbox is proven by %s", async (name, prove) => {
    const sub = `thief-${name.split(" ").at(-1)}`;
    const theirs = await prepared(sub);
    expect(await prove(theirs.owner.email)).toBeLessThan(300);
    expect(await personBehind(theirs, sub)).not.toBe(theirs.owner.userUuid);
  });

  it("its end is in the log of the connection's organization, once", async () => {
    const theirs = await prepared("logged");
    const { body } = await post("/api/auth/magic-link/send", { email: theirs.owner.email });
    const verified = await post("/api/auth/magic-link/verify", { token: body.dev_token });
    const owner = { ...theirs.owner, token: verified.body.access_token as string };
    const events = await auditOf(realm.app, owner, "oidc_connection.unlinked");
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      resource_id: theirs.connection,
      metadata: { connection_uuid: theirs.connection, user_uuid: theirs.owner.userUuid, reason: "mailbox_proven" },
    });
  });

  it("a confirmed account keeps its links when its mailbox is proven again", async () => {
    const theirs = await prepared("honest");
    const { email } = theirs.owner;
    const mails = await mailsTo(realm.app, email);
    const token = mails.map(({ text }) => /confirm-email[?#]token=([\w-]+)/u.exec(text)?.[1]).find(Boolean);
    expect((await post("/api/auth/email/confirm", { token })).status).toBe(204);
    const { body } = await post("/api/auth/magic-link/send", { email });
    expect(outcome(await post("/api/auth/magic-link/verify", { token: body.dev_token }))).toBe("200");
    expect(await personBehind(theirs, "honest")).toBe(theirs.owner.userUuid);
  });
});
