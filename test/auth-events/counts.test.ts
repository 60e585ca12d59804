import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countEvents } from "../../src/domains/auth-events/list/count-store.ts";
import { partsOf } from "../../src/domains/auth-events/list/count-rules.ts";
import { openTestDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";
import { testClock } from "../support/clock.ts";
import { seedEvents } from "./chain-support.ts";
import { composeAuditChain } from "./compose-chain.ts";

const hour = 3_600_000;
const start = Math.floor(Date.now() / (24 * hour)) * 24 * hour - 10 * 24 * hour;
const at = (hours: number) => new Date(start + hours * hour);
const [mine, theirs] = [randomUUID(), randomUUID()];
const [ann, bob] = [randomUUID(), randomUUID()];
let database: Awaited<ReturnType<typeof openTestDatabase>>;

beforeAll(async () => {
  database = await openTestDatabase();
  const { chain, close } = await composeAuditChain(database.url, testClock());
  const { keys } = { keys: await import("../../src/platform/crypto/jwk.ts") };
  const pair = await keys.generateSigningKey("ed25519");
  const { createSealer } = await import("../../src/platform/crypto/sealed.ts");
  const { INSTANCE_KEY } = await import("../support/app.ts");
  await runSql(
    database.url,
    `insert into signing_keys (kid, algorithm, public_jwk, public_pem, private_key, active, created_at) values ($1, 'ed25519', $2, $3, $4, true, now())`,
    [
      pair.kid,
      JSON.stringify(pair.publicJwk),
      pair.publicPem,
      createSealer(INSTANCE_KEY).seal(pair.privateDer, `signing-key:${pair.kid}`),
    ],
  );
  const seed = (orgUuid: string | null, userUuid: string, events: number) =>
    seedEvents(database.url, { orgUuid, userUuid, events, from: at(0), everySeconds: 571 });
  for (const org of [mine, theirs, null]) for (const user of [ann, bob]) await seed(org, user, 700);
  for (const org of [mine, null]) await chain.linker.linkAll(org);
  // Some of each are not linked yet.
  for (const org of [mine, null]) await seed(org, ann, 300);
  await close();
});
afterAll(() => database.close());

/** What the table itself says. */
async function counted(filter: Parameters<typeof countEvents>[1]): Promise<number> {
  const [row] = await database.prepared<{ n: number }>(
    "test_counted",
    `select count(*)::int as n from audit_events
    where coalesce(org_uuid::text, '') = any($1) and (is_auth or not $2) and ($3::uuid is null or user_uuid = $3) and ($4::text is null or type = $4)
      and ($5::text is null or outcome = $5) and ($6::timestamptz is null or created_at >= $6) and ($7::timestamptz is null or created_at < $7)`,
    [
      filter.scope.map((org) => org ?? ""),
      filter.authOnly,
      filter.userUuid,
      filter.type,
      filter.outcome,
      filter.from,
      filter.to,
    ],
  );
  return row?.n ?? -1;
}

describe("totals", () => {
  const ranges = [
    [undefined, undefined],
    [at(24), undefined],
    [undefined, at(48)],
    [at(24), at(72)],
    [at(3), at(5)],
    [at(3.3), at(3.7)],
    [at(3.5), at(90.2)],
    [at(7.25), undefined],
    [at(7.2503), at(31.871)],
    [undefined, at(30.9)],
    [at(5), at(5)],
    [at(900), undefined],
  ] as const;
  const kinds = [
    {},
    { type: "login.password" },
    { outcome: "failure" },
    { type: "step_up.failed", outcome: "failure" },
    { type: "login.saml" },
    { userUuid: ann },
    { userUuid: bob, type: "token.refreshed" },
    { userUuid: ann, outcome: "failure" },
  ];
  const scopes = [[mine], [theirs], [mine, null], [null], []];

  it.each(scopes.flatMap((scope) => [true, false].map((authOnly) => ({ scope, authOnly }))))(
    "are those of the table for %j",
    async (whose) => {
      for (const [from, to] of ranges) {
        for (const kind of kinds) {
          const filter = { ...whose, ...kind, from, to };
          expect([filter, await countEvents(database, filter)]).toEqual([filter, await counted(filter)]);
        }
      }
    },
  );

  it("totals are counted by whole days, hours and minutes where possible", () => {
    const units = (from: number | undefined, to: number | undefined, finest: "hour" | "minute" = "minute") =>
      partsOf(from === undefined ? undefined : at(from), to === undefined ? undefined : at(to), finest).map(
        ({ unit, from: begin, to: end }) => [
          unit,
          begin && (begin.getTime() - start) / hour,
          end && (end.getTime() - start) / hour,
        ],
      );
    expect(units(undefined, undefined)).toEqual([["all", undefined, undefined]]);
    expect(units(24, undefined)).toEqual([["day", 24, undefined]]);
    expect(units(22.5, 49.25)).toEqual([
      ["minute", 22.5, 23],
      ["hour", 23, 24],
      ["day", 24, 48],
      ["hour", 48, 49],
      ["minute", 49, 49.25],
    ]);
    expect(units(22.5, 49.25, "hour")).toEqual([
      ["event", 22.5, 23],
      ["hour", 23, 24],
      ["day", 24, 48],
      ["hour", 48, 49],
      ["event", 49, 49.25],
    ]);
    expect(units(22.505, 22.752)).toEqual([
      ["event", 22.505, 22 + 31 / 60],
      ["minute", 22 + 31 / 60, 22.75],
      ["event", 22.75, 22.752],
    ]);
    expect(units(3.2, 3.4, "hour")).toEqual([["event", 3.2, 3.4]]);
    expect(units(3.201, 3.202)).toEqual([["event", 3.201, 3.202]]);
    expect(units(3, 3)).toEqual([]);
  });
});
