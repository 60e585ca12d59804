import { afterAll, beforeAll, expect, it } from "vitest";
import { directoryOf } from "../scim/support.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { elevated, founder, invite, member, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { held, signIn, works } from "./support.ts";
import type { Held } from "./support.ts";

let app: TestApp;
let second: TestApp;
let away: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  away = await founder(app);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

/** What ends a person's session: `who` is a member of the organization of `boss`, and signed in there. */
const ends: Record<string, (boss: Somebody, who: Somebody, session: Held) => Promise<Answer>> = {
  "the end of its organization": async (boss) =>
    app.call("DELETE", `/api/organizations/${boss.org}`, { token: await elevated(app, boss.token) }),
  "the deactivation of the member": (boss, { userUuid }) =>
    app.call("PATCH", `/api/users/${userUuid}`, { token: boss.token, body: { status: "inactive" } }),
  "the removal of the member": (boss, { userUuid }) =>
    app.call("DELETE", `/api/users/${userUuid}`, { token: boss.token }),
  "the member's leaving": (_boss, { userUuid }, { token }) => app.call("DELETE", `/api/users/${userUuid}`, { token }),
  "a deactivation by the directory": async (boss, { userUuid }) =>
    (await directoryOf(app, boss)).patch(`/Users/${userUuid}`, { op: "replace", path: "active", value: false }),
  "a removal by the directory": async (boss, { userUuid }) =>
    (await directoryOf(app, boss)).call("DELETE", `/Users/${userUuid}`),
  "the end of all sessions on its device": (_boss, _who, { token, device }) =>
    app.call("POST", `/api/devices/${device}/revoke-all`, { token }),
  "the end of all sessions of its organization": async (boss) =>
    app.call("POST", `/api/organizations/${boss.org}/revoke-all-sessions`, { token: await elevated(app, boss.token) }),
};

it.each(Object.entries(ends))(
  "a session that switching opened in another organization ends with %s",
  async (_, end) => {
    const boss = await founder(app);
    const who = await member(app, boss);
    const invitation = await invite(app, away, who.email);
    const body = { token: invitation.token, password };
    expect((await app.call("POST", "/api/auth/invite/accept", { body })).status).toBe(200);
    const source = await signIn(app, who);
    const alone = await signIn(app, { ...who, orgName: away.orgName });
    const enter = async ({ token, device }: Held, org_uuid: string): Promise<Held> =>
      held((await app.call("POST", "/api/auth/switch", { token, body: { org_uuid } })).body, device);
    const there = await enter(source, away.org);
    const back = await enter(there, boss.org);
    for (const { token } of [source, there, back]) expect(await works(second, token)).toBe(true);
    expect(outcome(await end(boss, who, source))).toMatch(/^20[04]$/u);
    for (const { token, refreshToken } of [source, there, back]) {
      for (const on of [second, app]) expect(await works(on, token)).toBe(false);
      const renewal = await second.call("POST", "/api/auth/refresh", { body: { refresh_token: refreshToken } });
      expect(outcome(renewal)).toBe("401 unauthorized");
    }
    expect(await works(second, alone.token)).toBe(true);
  },
);
