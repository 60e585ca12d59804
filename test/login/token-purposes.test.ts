import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, invite, mailsTo, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let host: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  host = await founder(app);
});
afterAll(() => app.close());

const post = (path: string, body: unknown, token?: string): Promise<Answer> => app.call("POST", path, { body, token });

/** The token for a page in the newest mail that has one. */
async function tokenOf({ email }: Somebody, page: string): Promise<string> {
  const link = new RegExp(`/${page}#token=([\\w-]+)`, "u");
  const found = (await mailsTo(app, email)).map(({ text }) => link.exec(text)?.[1]).findLast(Boolean);
  if (found === undefined) throw new Error(`no mail leads to ${page}`);
  return found;
}

/** The mfa_token of a login of somebody whose second factor was just made active. */
async function mfaToken({ email, orgName, token }: Somebody): Promise<string> {
  const path = "/api/v1/me/mfa/factors";
  const { id, secret: key } = (await post(path, { factor_type: "totp" }, token)).body.data;
  await post(`${path}/${id}/verify`, { code: codeAt(key, app.clock.now()) }, token);
  return (await post("/api/auth/login", { email, password, org_name: orgName })).body.mfa_token as string;
}

/** A kind of token: how somebody gets one, where it is used, and the outcome of every other token there. */
interface Kind {
  get: (who: Somebody) => Promise<string>;
  use: (token: unknown) => Promise<Answer>;
  refused: string;
  /** Outcome of its own use. */
  good: string;
  /** Outcome without a token. */
  absent: string;
}

const KINDS: Readonly<Record<string, Kind>> = {
  "a magic link": {
    get: async (who) => {
      await post("/api/auth/magic-link/send", { email: who.email });
      return tokenOf(who, "magic-link");
    },
    use: (token) => post("/api/auth/magic-link/verify", { token }),
    refused: "401 unauthorized",
    good: "200",
    absent: "400 bad_request",
  },
  "a confirmation": {
    get: (who) => tokenOf(who, "confirm-email"),
    use: (token) => post("/api/auth/email/confirm", { token }),
    refused: "401 unauthorized",
    good: "204",
    absent: "400 validation_error",
  },
  "an objection": {
    get: (who) => tokenOf(who, "disown"),
    use: (token) => post("/api/auth/email/disown", { token }),
    refused: "401 unauthorized",
    good: "204",
    absent: "400 validation_error",
  },
  "a reset": {
    get: async (who) => {
      await post("/api/auth/password/forgot", { email: who.email });
      return tokenOf(who, "reset-password");
    },
    use: (token) => post("/api/auth/password/reset", { token, password: "quite another passphrase" }),
    refused: "400 reset_expired",
    good: "204",
    absent: "400 validation_error",
  },
  "an invitation": {
    get: async (who) => (await invite(app, host, who.email)).token,
    use: (token) => post("/api/auth/invite/accept", { token, password }),
    refused: "404 invitation_not_found",
    good: "200",
    absent: "400 validation_error",
  },
  "a refresh token": {
    get: async (who) => who.refreshToken,
    use: (refresh_token) => post("/api/auth/refresh", { refresh_token }),
    refused: "401 unauthorized",
    good: "200",
    absent: "400 validation_error",
  },
  "an access token": {
    get: async (who) => who.token,
    use: (token) => app.call("GET", "/api/auth/me", { token: token as string | undefined }),
    refused: "401 unauthorized",
    good: "200",
    absent: "401 unauthorized",
  },
};

const OTHERS: Readonly<Record<string, Pick<Kind, "use" | "refused" | "absent">>> = {
  "the second factor": {
    use: (mfa_token) => post("/api/auth/mfa/totp/challenge", { mfa_token, code: "123456" }),
    refused: "401 unauthorized",
    absent: "400 bad_request",
  },
  "single sign-on": {
    use: (session_token) => post("/api/auth/oidc/session", { session_token }),
    refused: "401 unauthorized",
    absent: "400 validation_error",
  },
};

it.each(Object.keys(KINDS))("%s works where it is meant to, and nowhere else", async (name) => {
  const who = await founder(app);
  const kind = KINDS[name] as Kind;
  const token = await kind.get(who);
  for (const [door, { use, refused }] of Object.entries({ ...KINDS, ...OTHERS }))
    if (door !== name) expect([door, outcome(await use(token))]).toEqual([door, refused]);
  if (name !== "an access token") {
    const { body } = await post("/api/auth/step-up/challenge", { method: "magic_link" }, who.token);
    const answer = { challenge_id: body.challenge_id as string, token };
    expect(outcome(await post("/api/auth/step-up/verify", answer, who.token))).toBe("400 invalid_code");
  }
  expect(outcome(await kind.use(token))).toBe(kind.good);
});

it.each(Object.entries({ ...KINDS, ...OTHERS }))(
  "%s is refused when it is wrong, and 400 when it is absent from a body",
  async (_name, kind) => {
    if (kind.absent.startsWith("400"))
      for (const absent of [undefined, "", null]) expect(outcome(await kind.use(absent))).toBe(kind.absent);
    for (const wrong of ["x", randomUUID(), "a".repeat(43)]) expect(outcome(await kind.use(wrong))).toBe(kind.refused);
  },
);

it("a mailed step-up and an mfa_token work for no other purpose", async () => {
  const who = await founder(app);
  await post("/api/auth/step-up/challenge", { method: "magic_link" }, who.token);
  const mailed = await tokenOf(who, "step-up");
  for (const token of [mailed, await mfaToken(who)])
    for (const [door, { use, refused }] of Object.entries(KINDS))
      expect([door, outcome(await use(token))]).toEqual([door, refused]);
});
