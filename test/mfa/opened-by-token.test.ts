import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signIn } from "../sessions/support.ts";
import type { Held } from "../sessions/support.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, invite, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { codeAt } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

const FACTORS = "/api/v1/me/mfa/factors";
const post = (path: string, body: unknown, token?: string): Promise<Answer> => app.call("POST", path, { body, token });
const create = (token: string) => post(FACTORS, { factor_type: "totp" }, token);
const minutes = (count: number): void => app.clock.advance(count * 60_000);

/** A founder who is also a member of another organization. */
async function memberOfTwo(): Promise<{ who: Somebody; other: Somebody }> {
  const [who, other] = [await founder(app), await founder(app)];
  const { token } = await invite(app, other, who.email);
  expect((await post("/api/auth/invite/accept", { token, password })).status).toBe(200);
  return { who, other };
}

/** What a token can open; each resolves to the access token of the new session. */
const openings: [string, (held: Held, other: Somebody) => Promise<string>][] = [
  [
    "a switch",
    async ({ token }, { org }) => (await post("/api/auth/switch", { org_uuid: org }, token)).body.access_token,
  ],
  [
    "a switch on a device",
    async ({ token, device }) => {
      const path = `/api/devices/${device}`;
      const [own] = (await app.call("GET", `${path}/accounts`, { token })).body.data as { id: string }[];
      return (await post(`${path}/active-account`, { account_id: own?.id }, token)).body.access_token;
    },
  ],
  [
    "a new organization",
    async ({ token, sid }) => (await post("/api/organizations", { name: `Of ${sid}` }, token)).body.access_token,
  ],
];

describe.each(openings)("the session that %s opens", (_what, open) => {
  it("adds a first factor as long as the sign-in is recent, and not longer", async () => {
    const { who, other } = await memberOfTwo();
    const held = await signIn(app, who);
    minutes(14);
    expect((await create(await open(held, other))).status).toBe(201);
    minutes(2);
    const { body } = await post("/api/auth/refresh", { refresh_token: held.refreshToken });
    const later = { ...held, token: body.access_token as string, sid: `${held.sid} later` };
    expect(outcome(await create(await open(later, other)))).toBe("403 step_up_required");
  });

  it("changes no factors by the second factor of the session before", async () => {
    const { who, other } = await memberOfTwo();
    const held = await signIn(app, who);
    const { id, secret } = (await create(held.token)).body.data as { id: number; secret: string };
    const code = () => ({ code: codeAt(secret, app.clock.now()) });
    expect((await post(`${FACTORS}/${id}/verify`, code(), held.token)).status).toBe(200);
    const token = await open(held, other);
    const changes = (by: string) => [
      create(by),
      post("/api/v1/me/mfa/recovery-codes/regenerate", undefined, by),
      app.call("DELETE", `${FACTORS}/${id}`, { token: by }),
    ];
    expect((await Promise.all(changes(token))).map(outcome)).toEqual(Array(3).fill("403 step_up_required"));
    app.clock.advance(30_000);
    const { body } = await post("/api/auth/step-up/challenge", { method: "totp" }, token);
    const answer = { challenge_id: body.challenge_id as string, ...code() };
    expect((await post("/api/auth/step-up/verify", answer, token)).status).toBe(200);
    expect((await create(token)).status).toBe(201);
    expect((await create(held.token)).status).toBe(201);
  });
});
