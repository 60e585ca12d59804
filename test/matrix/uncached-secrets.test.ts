import type { DescMessage } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bindings } from "../shape/contract-routes.ts";
import { mailsTo, founder, password, tokenTo } from "../support/people.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { codeAt } from "../mfa/support.ts";
import { openStage } from "./late-writes-stage.ts";
import type { Stage } from "./late-writes-stage.ts";
import { pathOf, writes } from "./late-writes.ts";
import { done, startMatrixApp } from "./world.ts";

/** Members that hold a token or a secret (decisions 1.11). */
const SECRET =
  /^(?:(?:access|refresh|elevated|mfa)_token|token|api_key|(?:new_|webhook_)?secret|private_key(?:_pem)?|svid|codes)$/u;

/** Routes of callers whose answers carry one. */
const carrying = [
  "POST /api/pricing/quote",
  "POST /api/admin/organizations/{org_uuid}/api-keys",
  "POST /api/admin/organizations/{org_uuid}/scim-tokens",
  "POST /api/webhooks/{webhook_id}/rotate-secret",
  "POST /api/auth/invite/accept",
  "POST /api/marketplace/apps",
  "POST /api/marketplace/apps/{app_id}/webhook/rotate",
  "POST /api/v1/me/mfa/factors",
  "POST /api/admin/organizations/{org_uuid}/mtls-ca/certificates",
  "POST /api/organizations/{org_uuid}/service-identities/automation-token",
  "POST /api/devices/{device_uuid}/active-account",
  "POST /api/auth/switch",
  "POST /api/admin/organizations/{org_uuid}/signing-keys/{key_id}/sign",
  "POST /api/auth/spiffe/svid",
  "POST /api/auth/spiffe/jwt-svid",
  "POST /api/auth/step-up/verify",
  "POST /api/organizations",
  "POST /api/v2/webhooks",
];
/** Those that sign somebody in, and one that needs a second factor. */
const doors = [
  "POST /api/auth/login",
  "POST /api/auth/magic-link/verify",
  "POST /api/auth/refresh",
  "POST /api/auth/otp/verify",
  "POST /api/auth/mfa/totp/challenge",
  "POST /api/auth/oidc/session",
  "POST /api/v1/me/mfa/recovery-codes/regenerate",
];
/** Routes whose messages have such a member that is for another route alone. */
const without = [
  "GET /api/admin/organizations/{org_uuid}/mtls-ca/certificates",
  "GET /api/admin/organizations/{org_uuid}/mtls-ca/certificates/{cert_uuid}",
  "GET /api/v2/webhooks",
  "GET /api/v2/webhooks/{webhook_id}",
  "PATCH /api/v2/webhooks/{webhook_id}",
];

let app: TestApp;
let stage: Stage;
beforeAll(async () => {
  app = await startMatrixApp();
  stage = await openStage(app);
});
afterAll(() => app.close());

function declares(desc: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(desc)) return false;
  seen.add(desc);
  return desc.fields.some(
    ({ name, message }) => SECRET.test(name) || (message !== undefined && declares(message, seen)),
  );
}

/** Whether a member of an answer, at any depth, holds a token or a secret. */
function carries(answer: unknown): boolean {
  if (answer === null || typeof answer !== "object") return false;
  return Object.entries(answer).some(([name, value]) => (SECRET.test(name) && value?.length > 0) || carries(value));
}

/** `no-store` of a success that carries a secret; else what it is. */
const kept = ({ status, headers, body, text }: Answer): string | null =>
  status < 300 && carries(body) ? headers.get("cache-control") : `${status} without a secret: ${text}`;

/** What every door answers to somebody who may enter, by route. */
async function enter(): Promise<Record<string, Answer>> {
  const [who, other] = [await founder(app), await founder(app)];
  const post = (path: string, body: unknown, token?: string) => app.call("POST", path, { body, token });
  const credentials = { email: who.email, password, org_name: who.orgName };
  const login = await post("/api/auth/login", credentials);
  const refresh = await post("/api/auth/refresh", { refresh_token: login.body.refresh_token });
  await post("/api/auth/magic-link/send", { email: other.email });
  const link = await post("/api/auth/magic-link/verify", { token: await tokenTo(app, other.email) });
  const mailbox = "nobody.yet@people.test";
  await post("/api/auth/otp", { email: mailbox });
  const [, code] = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, mailbox)).at(-1)?.text ?? "") ?? [];
  const otp = await post("/api/auth/otp/verify", { email: mailbox, code });
  const redemption = (await writes["POST /api/auth/oidc/link"]?.(stage))?.body;
  const session = await post("/api/auth/oidc/session", redemption);
  const factors = "/api/v1/me/mfa/factors";
  const token = refresh.body.access_token as string;
  const { id, secret } = (await post(factors, { factor_type: "totp" }, token)).body.data;
  const now = app.clock.now();
  done(await post(`${factors}/${id}/verify`, { code: codeAt(secret, now) }, token));
  const first = await post("/api/auth/login", credentials);
  const proof = { mfa_token: first.body.mfa_token, code: codeAt(secret, now, 1) };
  const challenge = await post("/api/auth/mfa/totp/challenge", proof);
  const codes = await post("/api/v1/me/mfa/recovery-codes/regenerate", undefined, challenge.body.access_token);
  return {
    "POST /api/auth/login": login,
    "POST /api/auth/login, which asks for the second factor": first,
    "POST /api/auth/magic-link/verify": link,
    "POST /api/auth/refresh": refresh,
    "POST /api/auth/otp/verify": otp,
    "POST /api/auth/mfa/totp/challenge": challenge,
    "POST /api/auth/oidc/session": session,
    "POST /api/v1/me/mfa/recovery-codes/regenerate": codes,
  };
}

it("no cache keeps an answer with a token or a secret, whatever the route", async () => {
  const declaring = bindings().filter(({ rpc }) => rpc.methodKind === "unary" && declares(rpc.output));
  expect(declaring.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
    [...carrying, ...doors, ...without].sort(),
  );
  const found: [string, string | null | undefined][] = Object.entries(await enter()).map(([name, answer]) => [
    name,
    kept(answer),
  ]);
  for (const name of carrying) {
    const binding = declaring.find(({ method, path }) => `${method} ${path}` === name);
    const write = (await writes[name]?.(stage)) ?? {};
    const options = { token: stage.actor.token, headers: write.headers ?? {}, body: write.body };
    found.push([name, binding && kept(await app.call("POST", pathOf(binding, stage, write), options))]);
  }
  expect(found.filter(([, keeping]) => keeping !== "no-store")).toEqual([]);
});

it("no cache keeps the value of a secret", async () => {
  const { owner, ids, token } = stage.side;
  const path = `/api/admin/organizations/${owner.org}/secrets/${ids["secret"]}`;
  for (const one of [path, `${path}/versions/1`]) {
    const { status, headers, body } = await app.call("GET", one, { token });
    expect([status, body.value, headers.get("cache-control")]).toEqual([200, "x", "no-store"]);
  }
});
