import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { tickingClock } from "../support/clock.ts";
import { auditOf, elevated, founder, invite } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { works } from "./support.ts";

let app: TestApp;
let boss: Somebody;
let away: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, clock: tickingClock() });
  [boss, away] = [await founder(app), await founder(app)];
});
afterAll(() => app.close());

/** The token of a membership that a person accepts. */
async function join(who: Somebody, by: Somebody): Promise<string> {
  const { token } = await invite(app, by, who.email);
  const answer = await app.call("POST", "/api/auth/invite/accept", { token: who.token, body: { token } });
  if (answer.status !== 200) throw new Error(`acceptance answered ${answer.status}`);
  return answer.body.data.access_token as string;
}

const sid = (token: string): string => String(decodeJwt(token)["sid"]);
const call = (method: string, path: string, token: string, body?: unknown) => app.call(method, path, { token, body });

const ends: [string, (by: Somebody, who: Somebody, token: string) => Promise<{ status: number }>][] = [
  [
    "revokes it",
    ({ org, token }, _who, theirs) =>
      call("DELETE", `/api/organizations/${org}/session-inventory/${sid(theirs)}`, token),
  ],
  [
    "revokes all",
    async ({ org, token }) =>
      call("POST", `/api/organizations/${org}/revoke-all-sessions`, await elevated(app, token), {
        exclude_current: true,
      }),
  ],
  [
    "suspends the member",
    ({ token }, who) => call("PATCH", `/api/users/${who.userUuid}`, token, { status: "inactive" }),
  ],
];

it.each(ends)("the log of another organization does not name the administrator who %s", async (_what, end) => {
  const who = await founder(app);
  await join(who, away);
  const there = await join(who, boss);
  const opened = (await call("POST", "/api/auth/switch", there, { org_uuid: away.org })).body.access_token as string;
  expect((await end(boss, who, there)).status).toBeLessThan(300);
  expect(await works(app, opened)).toBe(false);
  const [event] = await auditOf(app, away, "session.revoked");
  expect(event).toMatchObject({
    actor: { type: "system", email: null },
    user_uuid: who.userUuid,
    ip_address: "",
    user_agent: "atrium",
    metadata: { session_id: sid(opened), reason: "source_ended", source_session_id: sid(there) },
  });
});

it("the log of another organization names the person who signs out", async () => {
  const who = await founder(app);
  await join(who, away);
  const there = await join(who, boss);
  const opened = (await call("POST", "/api/auth/switch", there, { org_uuid: away.org })).body.access_token as string;
  expect((await call("POST", "/api/auth/logout", there)).status).toBe(204);
  const [event] = await auditOf(app, away, "session.revoked");
  expect(event).toMatchObject({
    actor: { type: "user", id: who.userUuid },
    metadata: { session_id: sid(opened), reason: "source_ended" },
  });
});
