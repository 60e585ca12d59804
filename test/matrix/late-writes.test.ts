import { randomUUID } from "node:crypto";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callRest } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openStage } from "./late-writes-stage.ts";
import { pathOf, writes, writingRoutes } from "./late-writes.ts";
import type { Stage, Write } from "./late-writes.ts";
import { openRaces } from "./race.ts";
import type { Races } from "./race.ts";
import { guardedRoutes } from "./rules.ts";
import type { Credential } from "./send.ts";
import { startMatrixApp } from "./world.ts";
import { bySvid } from "./workloads.ts";

let app: TestApp;
let races: Races;
beforeAll(async () => {
  app = await startMatrixApp();
  races = await openRaces(app.databaseUrl);
});
afterAll(async () => {
  await races.close();
  await app.close();
});

/** Statements that end or reduce a caller's permissions, and that restore them for the next write. */
interface End {
  by: "person" | "key" | "token" | "svid";
  sql: readonly string[];
  undo: readonly string[];
}

const member_ = "org_uuid = $1 and user_uuid = $2";
const session = "uuid = $3";
const ends: Record<string, End> = {
  "a person is removed": {
    by: "person",
    sql: [
      `update memberships set status = 'removed', version = version + 1 where ${member_}`,
      `update sessions set revoked_at = created_at where ${session}`,
    ],
    undo: [
      `update memberships set status = 'active', version = version - 1 where ${member_}`,
      `update sessions set revoked_at = null where ${session}`,
    ],
  },
  "a person is made inactive": {
    by: "person",
    sql: [
      `update memberships set status = 'inactive', version = version + 1 where ${member_}`,
      `update sessions set revoked_at = created_at where ${session}`,
    ],
    undo: [
      `update memberships set status = 'active', version = version - 1 where ${member_}`,
      `update sessions set revoked_at = null where ${session}`,
    ],
  },
  "a person is given another role": {
    by: "person",
    sql: [`update memberships set role_id = 3, is_owner = false, version = version + 1 where ${member_}`],
    undo: [`update memberships set role_id = 1, is_owner = true, version = version - 1 where ${member_}`],
  },
  "a person's session is revoked": {
    by: "person",
    sql: [`update sessions set revoked_at = created_at where ${session}`],
    undo: [`update sessions set revoked_at = null where ${session}`],
  },
  "a key is revoked": {
    by: "key",
    sql: ["update api_keys set revoked_at = created_at where key_id = $4"],
    undo: ["update api_keys set revoked_at = null where key_id = $4"],
  },
  "a key's maker is given another role": {
    by: "key",
    sql: [`update memberships set role_id = 3, is_owner = false, version = version + 1 where ${member_}`],
    undo: [`update memberships set role_id = 1, is_owner = true, version = version - 1 where ${member_}`],
  },
  "an automation token is revoked": {
    by: "token",
    sql: ["update automation_tokens set revoked_at = created_at where token_id = $5"],
    undo: ["update automation_tokens set revoked_at = null where token_id = $5"],
  },
  "a token's identity is deleted": {
    by: "token",
    sql: ["update service_identities set deleted_at = created_at where identity_id = $6"],
    undo: ["update service_identities set deleted_at = null where identity_id = $6"],
  },
  "a token's identity is given another role": {
    by: "token",
    sql: ["update service_identities set role_id = 3, version = version + 1 where identity_id = $6"],
    undo: ["update service_identities set role_id = 1, version = version - 1 where identity_id = $6"],
  },
  "an SVID is revoked": {
    by: "svid",
    sql: ["update svids set revoked_at = created_at where svid_id = $7"],
    undo: ["update svids set revoked_at = null where svid_id = $7"],
  },
  "an SVID's identity is deleted": {
    by: "svid",
    sql: ["update service_identities set deleted_at = created_at where identity_id = $6"],
    undo: ["update service_identities set deleted_at = null where identity_id = $6"],
  },
  "an SVID's identity is given another role": {
    by: "svid",
    sql: ["update service_identities set role_id = 3, version = version + 1 where identity_id = $6"],
    undo: ["update service_identities set role_id = 1, version = version - 1 where identity_id = $6"],
  },
};

async function run(sql: readonly string[], on: Stage, client: pg.Client = races.watch): Promise<void> {
  const { id: tokenId, identityId, svidId } = on.automation;
  const params = [on.side.owner.org, on.actor.userUuid, on.sid, on.key.id, tokenId, identityId, svidId];
  for (const text of sql) {
    const used = [...new Set([...text.matchAll(/\$(\d)/gu)].map(([, n]) => Number(n)))].sort();
    await client.query(
      used.reduce((numbered, n, at) => numbered.replaceAll(`$${n}`, `$${at + 1}`), text),
      used.map((n) => params[n - 1]),
    );
  }
}

it("every writing route is raced against the end of its caller", () => {
  expect(
    writingRoutes()
      .map(({ name }) => name)
      .filter((name) => writes[name] === undefined),
  ).toEqual([]);
});

describe("Writes of a caller that ends", () => {
  it.each(Object.keys(ends))(
    "a writing route returns 401 and commits nothing when %s during the request",
    async (what) => {
      const end = ends[what] as End;
      const on = await openStage(app);
      const forKeys = new Set(
        guardedRoutes()
          .filter(
            ({ personOnly, words }) =>
              !personOnly && !/elevated|owner|platform|operator|superuser/u.test([...words].join(" ")),
          )
          .map(({ route }) => `${route.method} ${route.path}`),
      );
      const faults: string[] = [];
      let tried = 0;
      for (const { name, binding } of writingRoutes()) {
        if (end.by !== "person" && !forKeys.has(name)) continue;
        if ((end.by === "token" || end.by === "svid") && /\/apps\/\{app_id\}|\/billing\/cards/u.test(name)) continue;
        const write: Write = (await writes[name]?.(on)) ?? {};
        const presented: Record<End["by"], Credential> = {
          key: { token: on.key.key },
          token: { token: on.automation.token },
          svid: bySvid(on.automation),
          person: on.actor,
        };
        const send = () => {
          // With an Idempotency-Key, accepted where something is created, the transaction ends later and elsewhere.
          const headers = { "idempotency-key": randomUUID(), ...write.headers };
          return callRest(app.url, binding.method, pathOf(binding, on, write), {
            ...presented[end.by],
            headers,
            ...(write.body === undefined ? {} : { body: write.body }),
          });
        };
        tried++;
        const fault = await races.raced(
          { end: (client) => run(end.sql, on, client), undo: () => run(end.undo, on) },
          send,
        );
        if (fault !== undefined) faults.push(`${name} ${fault}`);
        const control = await send();
        if (control.status >= 300) faults.push(`${name}, undisturbed, answered ${control.status}: ${control.text}`);
        await run(
          [
            "update sessions set revoked_at = null where uuid = $3",
            // A session that switching has derived would end in the next race, and not be restored.
            "update sessions set source_uuid = null, idle_until = null where source_uuid = $3",
          ],
          on,
        );
      }
      expect(faults).toEqual([]);
      expect(tried).toBeGreaterThan({ key: 25, token: 15, svid: 15, person: 55 }[end.by]);
    },
  );
});
