import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { founder, outcome, password } from "../support/people.ts";
import { begin, comeBack, granted, redeem, sessionTokenOf, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());

/** A sign-in of a new person that has come back, in a browser that has begun others before. */
async function returned(sub: string, before: readonly string[] = []) {
  realm.provider.subject = subject(sub);
  const begun = await begin(realm);
  // Browsers send the oldest first (RFC 6265 §5.4).
  const cookie = [...before, begun.cookie].join("; ");
  const answer = await comeBack(realm, cookie, granted(realm, begun));
  return { begun, cookie, answer };
}

/** The cookie that a response ends. */
function ended(headers: Headers): string | undefined {
  const set = headers.get("set-cookie") ?? "";
  return set.includes("Max-Age=0") ? set.split("=")[0] : undefined;
}

it("the newest of 26 sign-ins that are under way in one browser comes back, and is exchanged", async () => {
  const before: string[] = [];
  for (let n = 0; n < 25; n++) before.push((await begin(realm)).cookie);
  const { answer, cookie } = await returned("newest", before);
  expect(answer.status, answer.text).toBe(302);
  expect(outcome(await redeem(realm, sessionTokenOf(answer), cookie))).toBe("200");
});

it("an exchange ends the cookie of its sign-in alone", async () => {
  const other = await begin(realm);
  const { begun, answer, cookie } = await returned("ends", [other.cookie]);
  const pair = await redeem(realm, sessionTokenOf(answer), cookie);
  expect(outcome(pair)).toBe("200");
  expect(ended(pair.headers)).toBe(begun.cookie.split("=")[0]);
  const path = (header: string | null) => /Path=([^;]+)/u.exec(header ?? "")?.[1];
  expect(path(pair.headers.get("set-cookie"))).toBe(path(begun.answer.headers.get("set-cookie")));
});

it("the callback ends the cookie of its sign-in alone where a verifier redeems the token", async () => {
  const verifier = "v".repeat(43);
  const code_challenge = createHash("sha256").update(verifier).digest("base64url");
  const other = await begin(realm);
  realm.provider.subject = subject("verifies");
  const begun = await begin(realm, { code_challenge, code_challenge_method: "S256" });
  const answer = await comeBack(realm, `${other.cookie}; ${begun.cookie}`, granted(realm, begun));
  expect([answer.status, ended(answer.headers)]).toEqual([302, begun.cookie.split("=")[0]]);
  expect(outcome(await redeem(realm, sessionTokenOf(answer), "", verifier))).toBe("200");
  const plain = await returned("plain");
  expect([plain.answer.status, ended(plain.answer.headers)]).toEqual([302, undefined]);
});

it("a refused exchange leaves the cookie, and a link ends it", async () => {
  const { app } = realm;
  const owner = await founder(app);
  // They are known elsewhere, with the address that the provider names.
  const email = "known@corp.test";
  const signUp = { name: "Elsewhere", email, password, first_name: "Kim" };
  expect((await app.call("POST", "/api/organizations", { body: signUp })).status).toBe(201);
  const { begun, answer, cookie } = await returned("known");
  const refused = await redeem(realm, sessionTokenOf(answer), cookie);
  expect([outcome(refused), ended(refused.headers)]).toEqual(["403 link_required", undefined]);
  const link = (token: string) =>
    app.call("POST", "/api/auth/oidc/link", {
      token,
      body: { session_token: sessionTokenOf(answer) },
      headers: { cookie },
    });
  const linked = await link(await app.login(email, password, "Elsewhere"));
  expect([outcome(linked), ended(linked.headers)]).toEqual(["204", begun.cookie.split("=")[0]]);
  expect(outcome(await link(owner.token))).toBe("401 unauthorized");
});

it("the cookie of a sign-in is Secure and has the service's own path where that is served by https", async () => {
  const below = await startRealm({ env: { SERVICE_BASE_URL: "https://id.example.com/atrium" } });
  try {
    const { answer } = await begin(below);
    expect(answer.headers.get("set-cookie")).toMatch(
      /; Path=\/atrium\/api\/auth\/oidc; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/u,
    );
  } finally {
    await below.close();
  }
});
