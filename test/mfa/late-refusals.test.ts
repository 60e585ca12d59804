import { afterAll, beforeAll, expect, it } from "vitest";
import { begin, comeBack, connect, granted, redeem, sessionTokenOf, startRealm, subject } from "../oidc/support.ts";
import type { Realm } from "../oidc/support.ts";
import type { Answer } from "../support/app.ts";
import { founder, invite, member, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { codeAt } from "./support.ts";

let realm: Realm;
let owner: Somebody;
beforeAll(async () => {
  realm = await startRealm();
  owner = await founder(realm.app);
});
afterAll(() => realm.close());

/** A member with a second factor: the secret of it. */
async function guarded(): Promise<{ who: Somebody; secret: string }> {
  const { app } = realm;
  const who = await member(app, owner);
  const factors = "/api/v1/me/mfa/factors";
  const made = await app.call("POST", factors, { token: who.token, body: { factor_type: "totp" } });
  const { id, secret } = made.body.data as { id: number; secret: string };
  const body = { code: codeAt(secret, app.clock.now()) };
  expect((await app.call("POST", `${factors}/${id}/verify`, { token: who.token, body })).status).toBe(200);
  return { who, secret };
}

/** Completes a sign-in that waits for the second factor, by an unused code. */
async function complete({ body, text }: Answer, secret: string): Promise<string> {
  const { app } = realm;
  const { mfa_token = body.data?.mfa_token } = body as { mfa_token?: string };
  expect(mfa_token, text).toEqual(expect.any(String));
  app.clock.advance(30_000);
  const code = codeAt(secret, app.clock.now());
  return outcome(await app.call("POST", "/api/auth/mfa/totp/challenge", { body: { mfa_token, code } }));
}

it("a second factor completes no invitation that was withdrawn or used since it was asked for", async () => {
  const { app } = realm;
  const host = await founder(app);
  const { who, secret } = await guarded();
  const accept = (token: string) => app.call("POST", "/api/auth/invite/accept", { body: { token, password } });

  const withdrawn = await invite(app, host, who.email);
  const late = await accept(withdrawn.token);
  const path = `/api/admin/organizations/${host.org}/invitations/${withdrawn.id}`;
  expect(outcome(await app.call("DELETE", path, { token: host.token }))).toBe("204");
  expect(await complete(late, secret)).toBe("404 invitation_not_found");

  const { token } = await invite(app, host, who.email);
  const [first, second] = [await accept(token), await accept(token)];
  expect(await complete(first, secret)).toBe("200");
  expect(await complete(second, secret)).toBe("400 invitation_expired");
});

it("a second factor links no identity to somebody who has another one linked since it was asked for", async () => {
  const { app, provider } = realm;
  owner = await founder(app);
  const { who, secret } = await guarded();
  const made = await connect(app, owner, provider.discoveryUrl, { allowed_domains: ["people.test"] });
  const connection = made.body.connection_uuid as string;
  const asked = async (sub: string): Promise<Answer> => {
    provider.subject = subject(sub, { email: who.email });
    const begun = await begin(realm, {}, connection);
    const answer = await comeBack(realm, begun.cookie, granted(realm, begun), connection);
    return redeem(realm, sessionTokenOf(answer), begun.cookie);
  };
  const [first, second] = [await asked("one"), await asked("two")];
  expect(await complete(first, secret)).toBe("200");
  expect(await complete(second, secret)).toBe("403 link_required");
});
