import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { decodeJwt } from "jose";
import { StepUpService } from "../../gen/atrium/step_up/v1/step_up_pb.ts";
import { codeAt } from "../mfa/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, member, outcome, password, tokenTo } from "../support/people.ts";

interface Factor {
  id: number;
  secret: string;
}

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const post = (path: string, body: unknown, token?: string) => app.call("POST", path, { body, token });
const get = (path: string, token: string) => app.call("GET", path, { token });

describe("step-up", () => {
  it("an elevated token passes elevation checks over REST and Connect, on every instance", async () => {
    const { token, org } = await founder(app);
    const revokeOthers = (bearer: string, instance = app) =>
      instance.call("DELETE", `/api/organizations/${org}/session-inventory`, {
        token: bearer,
        body: { exclude_current: true },
      });
    expect(outcome(await revokeOthers(token))).toBe("403 step_up_required");
    const issued = await post("/api/auth/step-up/challenge", { method: "password" }, token);
    expect(issued.status).toBe(200);
    expect(Object.keys(issued.body).sort()).toEqual(["challenge_id", "expires_at", "method"]);
    const { challenge_id } = issued.body;
    const verified = await post("/api/auth/step-up/verify", { challenge_id, password }, token);
    expect(verified.body).toEqual({ elevated_token: expect.any(String) as string, expires_in: 900 });
    expect(verified.headers.get("cache-control")).toBe("no-store");
    expect((await get("/api/auth/step-up/status", token)).body).toEqual({ elevated: false, expires_at: null });
    const { elevated_token: elevated } = verified.body;
    expect((await get("/api/auth/step-up/status", elevated)).body).toEqual({
      elevated: true,
      expires_at: expect.any(String) as string,
    });
    expect((await revokeOthers(elevated, second)).body).toEqual({ revoked: 0 });
    const client = createClient(StepUpService, createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" }));
    const headers = { authorization: `Bearer ${token}` };
    await expect(client.verifyChallenge({ challengeId: challenge_id, password }, { headers })).rejects.toThrow(
      /answered already/u,
    );
    expect(await client.getStepUpStatus({}, { headers })).toMatchObject({ elevated: false });
  });

  it("every error has the status and code of the table", async () => {
    const { token } = await founder(app);
    const challenge = (method: unknown) => post("/api/auth/step-up/challenge", { method }, token);
    const verify = (body: object) => post("/api/auth/step-up/verify", body, token);
    for (const method of [undefined, "", "sms", "totp"]) {
      const answer = await challenge(method);
      expect(outcome(answer)).toBe("400 bad_request");
      expect(answer.body.errors).toMatchObject([{ field: "method" }]);
    }
    const { challenge_id } = (await challenge("password")).body;
    for (const body of [{}, { challenge_id }, { challenge_id: "x", password }, { challenge_id, code: "1" }])
      expect(outcome(await verify(body))).toBe("400 bad_request");
    expect((await verify({ challenge_id })).body.message).toContain("send code, token or password,");
    expect((await verify({ challenge_id, code: "1" })).body.message).toContain("send password.");
    expect(outcome(await verify({ challenge_id: "00000000-0000-4000-8000-000000000000", password }))).toBe(
      "404 not_found",
    );
    expect(outcome(await verify({ challenge_id, password: "wrong" }))).toBe("400 invalid_code");
    expect((await verify({ challenge_id, password })).status).toBe(200);
    expect(outcome(await verify({ challenge_id, password }))).toBe("410 challenge_gone");
    const late = (await challenge("password")).body;
    app.clock.advance(300_000);
    expect(outcome(await verify({ challenge_id: late.challenge_id, password }))).toBe("400 expired_challenge");
    const present = (await challenge("password")).body;
    for (let at = 0; at < 5; at++)
      expect(outcome(await verify({ challenge_id: present.challenge_id, password: "wrong" }))).toBe("400 invalid_code");
    const locked = await verify({ challenge_id: present.challenge_id, password });
    expect(outcome(locked)).toBe("429 too_many_attempts");
    expect(locked.headers.get("retry-after")).toBe("300");
    expect(outcome(await challenge("password"))).toBe("429 too_many_attempts");
    expect(outcome(await app.call("POST", "/api/auth/step-up/challenge", { body: { method: "password" } }))).toBe(
      "401 unauthorized",
    );
  });

  it("a code for a factor deleted meanwhile returns bad_request and does not count as a failed attempt", async () => {
    const { token } = await founder(app);
    const factors = "/api/v1/me/mfa/factors";
    const { id, secret } = (await post(factors, { factor_type: "totp" }, token)).body.data as Factor;
    await post(`${factors}/${id}/verify`, { code: codeAt(secret, app.clock.now()) }, token);
    const { challenge_id } = (await post("/api/auth/step-up/challenge", { method: "totp" }, token)).body;
    expect(outcome(await app.call("DELETE", `${factors}/${id}`, { token }))).toBe("204");
    const code = codeAt(secret, app.clock.now(), 1);
    for (const input of [{ code }, { code }, { code }, { code, recovery: true }, { code, recovery: true }]) {
      const refused = await post("/api/auth/step-up/verify", { challenge_id, ...input }, token);
      expect(outcome(refused)).toBe("400 bad_request");
      expect(refused.body.errors).toMatchObject([{ field: "challenge_id" }]);
    }
    expect((await post("/api/auth/step-up/challenge", { method: "password" }, token)).status).toBe(200);
  });

  it("an elevated token does not outlive a session that cannot be refreshed", async () => {
    const { email } = await founder(app);
    await post("/api/auth/magic-link/send", { email });
    const signedIn = await post("/api/auth/magic-link/verify", { token: await tokenTo(app, email) });
    const { access_token: token } = signedIn.body as { access_token: string };
    app.clock.advance(86_100_000);
    const { challenge_id } = (await post("/api/auth/step-up/challenge", { method: "magic_link" }, token)).body;
    const verified = await post("/api/auth/step-up/verify", { challenge_id, token: await tokenTo(app, email) }, token);
    expect(verified.body.expires_in).toBe(300);
    const elevated = verified.body.elevated_token as string;
    expect(decodeJwt(elevated).exp).toBe(decodeJwt(token).exp);
    expect((await get("/api/auth/step-up/status", elevated)).body).toMatchObject({ elevated: true });
    app.clock.advance(300_000);
    expect(outcome(await get("/api/auth/step-up/status", elevated))).toBe("401 unauthorized");
  });

  it("an elevated token ends with a change of the role, and ends the whole session at logout", async () => {
    const by = await founder(app);
    const admin = await member(app, by, 1);
    const old = await elevated(app, admin.token);
    const role = { token: by.token, body: { role: "manager" } };
    expect((await app.call("PUT", `/api/users/${admin.userUuid}/role`, role)).status).toBe(200);
    expect(outcome(await get("/api/auth/step-up/status", old))).toBe("401 unauthorized");
    const { body } = await post("/api/auth/refresh", { refresh_token: admin.refreshToken });
    expect((await get("/api/auth/step-up/status", body.access_token)).body).toEqual({
      elevated: false,
      expires_at: null,
    });
    const present = await elevated(app, body.access_token);
    expect((await post("/api/auth/logout", undefined, present)).status).toBe(204);
    for (const ended of [present, body.access_token as string])
      expect(outcome(await get("/api/auth/me", ended))).toBe("401 unauthorized");
    expect(outcome(await post("/api/auth/refresh", { refresh_token: body.refresh_token }))).toBe("401 unauthorized");
  });

  it("the log of the organization has every step-up, and every refused one with its code", async () => {
    const { token } = await founder(app);
    const challenge = async () => (await post("/api/auth/step-up/challenge", { method: "password" }, token)).body;
    const { challenge_id } = await challenge();
    const { challenge_id: late } = await challenge();
    for (const given of ["wrong", password, password])
      await post("/api/auth/step-up/verify", { challenge_id, password: given }, token);
    app.clock.advance(300_000);
    await post("/api/auth/step-up/verify", { challenge_id: late, password }, token);
    const logged = async (type: string) =>
      (await get(`/api/auth/events?type=step_up.${type}`, token)).body.data.map(
        ({ outcome: ended, metadata }: { outcome: string; metadata: object }) => [ended, metadata],
      );
    const of = { challenge_id, method: "password" };
    expect(await logged("verified")).toEqual([["success", of]]);
    expect(await logged("failed")).toEqual([
      ["failure", { ...of, challenge_id: late, code: "expired_challenge" }],
      ["failure", { ...of, code: "challenge_gone" }],
      ["failure", { ...of, code: "invalid_code" }],
    ]);
    const { challenge_id: last } = await challenge();
    for (let at = 0; at < 5; at++) await post("/api/auth/step-up/verify", { challenge_id: last, password: "x" }, token);
    await post("/api/auth/step-up/challenge", { method: "password" }, token);
    expect(await logged("challenged")).toEqual([
      ["failure", { code: "too_many_attempts", method: "password" }],
      ["success", { ...of, challenge_id: last }],
      ["success", { ...of, challenge_id: late }],
      ["success", of],
    ]);
  });

  it("an Idempotency-Key applies to the challenge", async () => {
    const { token } = await founder(app);
    const options = { token, body: { method: "password" }, headers: { "idempotency-key": "once" } };
    const [first, again] = [
      await app.call("POST", "/api/auth/step-up/challenge", options),
      await app.call("POST", "/api/auth/step-up/challenge", options),
    ];
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  });
});
