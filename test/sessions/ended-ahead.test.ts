import { decodeJwt } from "jose";
import { expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import { testClock } from "../support/clock.ts";
import { founder, member } from "../support/people.ts";

it("a session that an instance with a faster clock revoked is at once in the list of ended ones", async () => {
  const app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  const ahead = await startApp({ databaseUrl: app.databaseUrl, clock: testClock(app.clock.now() + 2_000) });
  try {
    const boss = await founder(app);
    const sid = String(decodeJwt((await member(app, boss)).token)["sid"]);
    const inventory = `/api/organizations/${boss.org}/session-inventory`;
    const { token } = boss;
    expect((await ahead.call("DELETE", `${inventory}/${sid}`, { token })).status).toBe(204);
    const { body } = await app.call("GET", `${inventory}?status=ended`, { token });
    expect((body.data as { session_id: string }[]).map((session) => session.session_id)).toEqual([sid]);
  } finally {
    await ahead.close();
    await app.close();
  }
});
