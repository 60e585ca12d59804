import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { mailsTo, outcome, password } from "../support/people.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
});
afterAll(() => app.close());

const post = (path: string, body: unknown) => app.call("POST", path, { body });
let names = 0;
const signUp = (email: string, secret = password) =>
  post("/api/organizations", { name: `Forms ${++names}`, email, password: secret, first_name: "Ann" });

it("every spelling of an email is one person, and the email is shown as given", async () => {
  const made = await signUp("  Ann.Lee+x@MÜNCHEN.Example ");
  expect(made.status).toBe(201);
  const { body: me } = await app.call("GET", "/api/auth/me", { token: made.body.access_token });
  expect(me.email).toBe("Ann.Lee+x@xn--mnchen-3ya.example");
  expect(await mailsTo(app, "Ann.Lee+x@xn--mnchen-3ya.example")).toHaveLength(1);
  for (const same of [
    "ann.lee+X@xn--mnchen-3ya.example",
    "ANN.LEE+X@münchen.EXAMPLE",
    "ann.lee+x@mu\u0308nchen.example",
  ]) {
    for (const secret of [password, "another long enough one"])
      expect(outcome(await signUp(same, secret)), same).toBe("409 email_taken");
    expect((await post("/api/auth/login", { email: same, password, org_name: "forms 1" })).status, same).toBe(200);
  }
  for (const same of ["ann.lee+X@xn--mnchen-3ya.example", "ANN.LEE+X@münchen.EXAMPLE"]) {
    const { body: link } = await post("/api/auth/magic-link/send", { email: same });
    expect((await post("/api/auth/magic-link/verify", { token: link.dev_token })).body.user.user_uuid, same).toBe(
      made.body.user_uuid,
    );
  }
  expect((await signUp("annlee+x@xn--mnchen-3ya.example")).status).toBe(201);
});

it("letters that fold to those of an email sign nobody in, as failures are counted by the email", async () => {
  expect((await signUp("victim@forms.test")).status).toBe(201);
  for (const other of [
    "\uff56ictim@forms.test",
    "v\u0131ctim@forms.test",
    "victim\uff20forms.test",
    "\u2164ictim@forms.test",
  ])
    expect(outcome(await post("/api/auth/login", { email: other, password })), other).toBe("401 unauthorized");
  expect((await post("/api/auth/login", { email: "victim@forms.test", password })).status).toBe(200);
});

it("an email with more than 254 octets after encoding is refused", async () => {
  const label = "d".repeat(60);
  const domain = `${label}.${label}.${label}`;
  const fits = `${"l".repeat(64)}@${domain}.${"x".repeat(6)}`;
  expect(fits).toHaveLength(254);
  expect((await signUp(fits)).status).toBe(201);
  const encoded = `${"l".repeat(60)}@${domain}.münchen`;
  expect(encoded.length).toBeLessThan(255);
  for (const long of [`${fits}x`, encoded]) expect(outcome(await signUp(long))).toBe("400 validation_error");
  for (const wrong of [
    "",
    "a@",
    "@b.test",
    "a b@c.test",
    "a@b.test,c@d.test",
    "ü@b.test",
    "a@[127.0.0.1]",
    '"a"@b.test',
    "a@b..test",
    "a\n@b.test",
    "<a@b.test>",
  ]) {
    expect(outcome(await signUp(wrong)), wrong).toBe("400 validation_error");
    expect(outcome(await post("/api/auth/magic-link/send", { email: wrong })), wrong).toBe("400 bad_request");
  }
});
