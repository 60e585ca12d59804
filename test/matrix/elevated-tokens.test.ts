import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, member, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { chance } from "../fuzz/chance.ts";
import { sendRest, outcomeOf } from "./send.ts";
import { apiKey, done, signIn, startMatrixApp } from "./world.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startMatrixApp();
});
afterAll(() => app.close());

/** A session with an elevated token, as a client and as the model know it. */
interface Held {
  who: Somebody;
  sid: string;
  refresh: string;
  token: string;
  high: string;
  alive: boolean;
}

describe("Elevated tokens", () => {
  it("an elevated token is valid exactly as long as its session, however that ends", async () => {
    const dice = chance(7);
    const boss = await founder(app);
    const bossToken = (await signIn(app, boss)).token;
    const [ann, bob] = [
      await member(app, { ...boss, token: bossToken }, 1),
      await member(app, { ...boss, token: bossToken }, 2),
    ];
    const held: Held[] = [];
    const secrets = new Map([ann, bob].map((who) => [who, password]));

    const open = async (): Promise<void> => {
      const who = dice.pick([ann, bob]);
      const body = done(
        await app.call("POST", "/api/auth/login", {
          body: { email: who.email, password: secrets.get(who), org_name: who.orgName },
        }),
      );
      const token = body["access_token"] ?? "";
      const challenge = done(
        await app.call("POST", "/api/auth/step-up/challenge", { token, body: { method: "password" } }),
      );
      const high =
        done(
          await app.call("POST", "/api/auth/step-up/verify", {
            token,
            body: { challenge_id: challenge["challenge_id"], password: secrets.get(who) },
          }),
        )["elevated_token"] ?? "";
      held.push({
        who,
        sid: JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).sid as string,
        refresh: body["refresh_token"] ?? "",
        token,
        high,
        alive: true,
      });
    };
    const end = (which: (one: Held) => boolean): void => held.filter(which).forEach((one) => void (one.alive = false));
    const living = (): Held | undefined => {
      const rest = held.filter(({ alive }) => alive);
      return rest.length === 0 ? undefined : dice.pick(rest);
    };
    const call = async (method: string, path: string, token: string, body?: unknown) =>
      done(await app.call(method, path, { token, ...(body === undefined ? {} : { body }) }));

    const ends: ((one: Held) => Promise<void>)[] = [
      async (one) => {
        await call("POST", "/api/auth/logout", one.high);
        end((other) => other === one);
      },
      async (one) => {
        await call("POST", "/api/auth/logout", one.token);
        end((other) => other === one);
      },
      async (one) => {
        await call("DELETE", `/api/organizations/${boss.org}/session-inventory/${one.sid}`, bossToken);
        end((other) => other === one);
      },
      async (one) => {
        const first = done(await app.call("POST", "/api/auth/refresh", { body: { refresh_token: one.refresh } }));
        app.clock.advance(11_000);
        const reused = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: one.refresh } });
        expect([typeof first["access_token"], reused.status]).toEqual(["string", 401]);
        end((other) => other === one);
      },
      async (one) => {
        const next = `${secrets.get(one.who)}!`;
        await call("PUT", "/api/profile/password", one.high, {
          current_password: secrets.get(one.who),
          new_password: next,
        });
        secrets.set(one.who, next);
        end((other) => other !== one && other.who === one.who);
      },
    ];
    for (let step = 0; step < 24; step++) {
      if (held.filter(({ alive }) => alive).length < 3) await open();
      else await dice.pick(ends)(living() as Held);
      app.clock.advance(1_000);
      const statuses = await Promise.all(
        held.map(({ high }) =>
          app.call("GET", "/api/auth/step-up/status", { token: high }).then(({ status }) => status === 200),
        ),
      );
      expect(statuses, `step ${step}`).toEqual(held.map(({ alive }) => alive));
    }
    expect(held.some(({ alive }) => !alive)).toBe(true);
  });

  it("an elevated token returns 401 after its expiry, and a credential of another kind is none", async () => {
    const who = await founder(app);
    const { token } = await signIn(app, who);
    const high = await elevated(app, token);
    const { key } = await apiKey(app, { ...who, token: high }, ["admin", "vault:write"]);
    const rotate = `/api/admin/organizations/${who.org}/signing-keys/rotate`;
    expect(outcomeOf(await sendRest(app.url, "POST", rotate, { token: key }))).toBe("403 step_up_required");
    app.clock.advance(901_000);
    expect(outcomeOf(await sendRest(app.url, "POST", rotate, { token: high }))).toBe("401 unauthorized");
    const again = await signIn(app, who);
    expect(outcomeOf(await sendRest(app.url, "POST", rotate, again))).toBe("403 step_up_required");
  });

  it("neither a refresh nor a switch to an account proven with an elevated token passes the elevation on", async () => {
    const [who, other] = [await founder(app), await founder(app)];
    const isElevated = async (token: string | undefined) =>
      done(await app.call("GET", "/api/auth/step-up/status", { token }))["elevated"];
    const high = await elevated(app, who.token);
    const refreshed = done(await app.call("POST", "/api/auth/refresh", { body: { refresh_token: who.refreshToken } }));
    expect([await isElevated(high), await isElevated(refreshed["access_token"])]).toEqual([true, false]);
    const device = randomUUID();
    const { token } = await signIn(app, other, device);
    const account = done(
      await app.call("POST", `/api/devices/${device}/accounts`, { token, body: { access_token: high } }),
    );
    const switched = done(
      await app.call("POST", `/api/devices/${device}/active-account`, {
        token: await elevated(app, token),
        body: { account_id: account["id"] },
      }),
    );
    expect(await isElevated(switched["access_token"])).toBe(false);
  });
});
