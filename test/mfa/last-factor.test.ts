import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { codeAt } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

const FACTORS = "/api/v1/me/mfa/factors";

/** Creates a pending factor; resolves to its id and what makes it active. */
async function pending({ token }: Somebody) {
  const { body } = await app.call("POST", FACTORS, { token, body: { factor_type: "totp" } });
  const { id, secret } = body.data as { id: number; secret: string };
  const code = () => codeAt(secret, app.clock.now());
  return { id, activate: () => app.call("POST", `${FACTORS}/${id}/verify`, { token, body: { code: code() } }) };
}

/** What the person, their organization and a login say of factors and recovery codes. */
async function shown({ token, email, orgName }: Somebody): Promise<unknown[]> {
  const get = async (path: string) => (await app.call("GET", path, { token })).body;
  const { has_active_totp, has_recovery_codes } = await get("/api/auth/mfa/status");
  const { data: codes } = await get("/api/v1/me/mfa/recovery-codes");
  const { data: members } = await get(`/api/users?email=${email}`);
  const login = await app.call("POST", "/api/auth/login", { body: { email, password, org_name: orgName } });
  return [has_active_totp, has_recovery_codes, codes.length, members[0].mfa_active, login.body.mfa_required === true];
}

it("recovery codes end with the last active factor, also beside a pending one, and with no other", async () => {
  const who = await founder(app);
  const remove = async (id: number) => (await app.call("DELETE", `${FACTORS}/${id}`, { token: who.token })).status;
  const phone = await pending(who);
  expect(await shown(who)).toEqual([false, false, 0, false, false]);
  expect((await phone.activate()).status).toBe(200);
  const tablet = await pending(who);
  expect((await tablet.activate()).status).toBe(200);
  await pending(who);
  const codes = await app.call("POST", "/api/v1/me/mfa/recovery-codes/regenerate", { token: who.token });
  expect(codes.body.data.codes).toHaveLength(10);
  expect(await remove(phone.id)).toBe(204);
  expect(await shown(who)).toEqual([true, true, 10, true, true]);
  expect(await remove(tablet.id)).toBe(204);
  expect(await shown(who)).toEqual([false, false, 0, false, false]);
});
