import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, invite, newcomer } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { codeAt } from "../mfa/support.ts";
import { pythonReader } from "./python.ts";
import type { PythonReader } from "./python.ts";

const binary = "application/x-flatbuffers";

let app: TestApp;
let owner: Somebody;
let read: PythonReader;
beforeAll(async () => {
  [app, read] = await Promise.all([startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } }), pythonReader()]);
  owner = await founder(app, "Binär ✓");
});
afterAll(() => app.close());

/** Accepts by an `Accept` header; the body as bytes. */
async function accept(body: unknown, accepted: string | undefined, token?: string) {
  const response = await fetch(`${app.url}/api/auth/invite/accept`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(accepted === undefined ? {} : { accept: accepted }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    vary: response.headers.get("vary"),
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

async function fresh(email: string) {
  const { token } = await invite(app, owner, email);
  return { token, ...newcomer() };
}

describe("the binary response", () => {
  it("the binary response is read and verified by Python's runtime", async (context) => {
    if (typeof read === "string") return context.skip(`not verified by Python: ${read}`);
    const { status, type, vary, bytes } = await accept(await fresh("py@guests.test"), binary);
    expect({ status, type }).toEqual({ status: 200, type: binary });
    expect(vary).toMatch(/accept/iu);
    expect(bytes.toString("latin1", 4, 8)).toBe("IREG");
    const fields = read(bytes);
    expect(fields).toMatchObject({
      org_uuid: owner.org,
      role: "employee",
      token_type: "Bearer",
      expires_in: 420,
      message: "Invitation accepted.",
    });
    const { body: me } = await app.call("GET", "/api/auth/me", { token: String(fields["access_token"]) });
    expect(me).toMatchObject({ user_uuid: fields["user_uuid"], org_name: "Binär ✓" });
    expect(
      (await app.call("POST", "/api/auth/refresh", { body: { refresh_token: fields["refresh_token"] } })).status,
    ).toBe(200);
    expect(() => read instanceof Function && read(bytes.subarray(0, -5))).toThrow(/not a FlatBuffer/u);
  });

  it.each([
    ["nothing", undefined, "application/json"],
    ["anything", "*/*", "application/json"],
    ["a tie", `${binary}, application/json`, "application/json"],
    ["a range", "application/*", "application/json"],
    ["the binary form more", `application/json;q=0.5, ${binary};q=0.9`, binary],
    ["JSON more", `${binary};q=0.4, application/json;q=0.5`, "application/json"],
    ["the binary form or anything less", `${binary}, */*;q=0.1`, binary],
  ])("the form of the response is chosen by Accept: %s", async (_what, header, chosen) => {
    const answer = await accept(await fresh(`accept${chosen.length}${header?.length ?? 0}@guests.test`), header);
    expect(answer).toMatchObject({ status: 200, type: chosen });
  });

  it("an Accept without either form returns 406 before the invitation is used", async () => {
    const body = await fresh("html@guests.test");
    expect(await accept(body, "text/html")).toMatchObject({ status: 406, type: "application/json" });
    expect(await accept(body, `${binary};q=0, application/json;q=0`)).toMatchObject({ status: 406 });
    expect(await accept(body, binary)).toMatchObject({ status: 200, type: binary });
  });

  it("an error is never binary", async () => {
    const { status, type, bytes } = await accept({ token: "none" }, binary);
    expect({ status, type }).toEqual({ status: 404, type: "application/json" });
    expect(JSON.parse(bytes.toString())).toMatchObject({ code: "invitation_not_found" });
  });

  it("the request for the second factor is JSON, and the challenge creates the membership", async () => {
    const guest = await founder(app);
    const { body } = await app.call("POST", "/api/v1/me/mfa/factors", {
      token: guest.token,
      body: { factor_type: "totp" },
    });
    const { id, secret } = body.data as { id: number; secret: string };
    await app.call("POST", `/api/v1/me/mfa/factors/${id}/verify`, {
      token: guest.token,
      body: { code: codeAt(secret, app.clock.now()) },
    });
    const { token } = await invite(app, owner, guest.email);
    const { status, type, bytes } = await accept({ token, password: newcomer().password }, binary);
    expect({ status, type }).toEqual({ status: 200, type: "application/json" });
    const { data } = JSON.parse(bytes.toString()) as { data: { mfa_required: boolean; mfa_token: string } };
    expect(Object.keys(data)).toEqual(["mfa_required", "mfa_token"]);
    const pending = await app.call("GET", `/api/auth/invite/${token}`);
    expect(pending.status).toBe(200);
    app.clock.advance(30_000);
    const challenge = await app.call("POST", "/api/auth/mfa/totp/challenge", {
      body: { mfa_token: data.mfa_token, code: codeAt(secret, app.clock.now()) },
    });
    expect(challenge.status).toBe(200);
    expect((await app.call("GET", "/api/auth/me", { token: challenge.body.access_token })).body).toMatchObject({
      org_uuid: owner.org,
      roles: ["employee"],
    });
    expect((await app.call("GET", `/api/auth/invite/${token}`)).body.code).toBe("invitation_expired");
  });

  it("a session with a proven second factor is not asked for it again", async () => {
    const guest = await founder(app);
    const { body } = await app.call("POST", "/api/v1/me/mfa/factors", {
      token: guest.token,
      body: { factor_type: "totp" },
    });
    const { id, secret } = body.data as { id: number; secret: string };
    const older = await app.login(guest.email, newcomer().password, guest.orgName);
    await app.call("POST", `/api/v1/me/mfa/factors/${id}/verify`, {
      token: guest.token,
      body: { code: codeAt(secret, app.clock.now()) },
    });
    const { token } = await invite(app, owner, guest.email);
    expect(JSON.parse((await accept({ token }, undefined, older)).bytes.toString())).toMatchObject({
      data: { mfa_required: true },
    });
    expect(JSON.parse((await accept({ token }, undefined, guest.token)).bytes.toString())).toMatchObject({
      data: { user_uuid: guest.userUuid },
    });
  });
});
