import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyAudit } from "../../src/app/verify-audit.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { seedEvents } from "./chain-support.ts";

let app: TestApp;
let by: Somebody;
const folder = mkdtempSync(join(tmpdir(), "atrium-audit-"));
const start = new Date(Date.now() - 3_600_000);
const count = 1_234;
beforeAll(async () => {
  app = await startApp();
  by = await founder(app);
  await seedEvents(app.databaseUrl, {
    orgUuid: by.org,
    events: count,
    from: start,
    metadata: '{"b":[1,{"z":"ü","a":null}],"a":"\\u2028 \\"x\\"","=c":1.5}',
  });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await app.close();
});

const path = (who: Somebody, query = "") => `/api/organizations/${who.org}/audit-events/export${query}`;
const get = (query = "", headers: Record<string, string> = {}, method = "GET") =>
  app.call(method, path(by, query), { token: by.token, headers });
const atSecond = (second: number) => new Date(start.getTime() + second * 1_000).toISOString();

/** Proves a text with the organization's present key set; answers the line that is said. */
async function proven(text: string, who = by): Promise<string> {
  const [file, jwks] = [join(folder, "export"), join(folder, "jwks.json")];
  writeFileSync(file, text);
  writeFileSync(jwks, (await app.call("GET", `/api/organizations/${who.org}/.well-known/jwks.json`)).text);
  const lines: string[] = [];
  const code = await verifyAudit({
    file: "export",
    jwks: "jwks.json",
    folders: ["/nowhere", folder],
    say: (line) => lines.push(line),
    complain: (line) => lines.push(line),
  });
  expect({ "Valid:": 0, "EMPTY:": 0, "NOT VA": 1, "NOT VE": 2, atrium: 2 }[lines.join().slice(0, 6)]).toBe(code);
  return lines.join();
}

describe("the export", () => {
  it("the export is JSON by default, as an attachment, in the order of the chain", async () => {
    const { status, headers, body, text } = await get();
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("content-disposition")).toMatch(
      new RegExp(`^attachment; filename="audit-events-${by.org}-\\d{4}-\\d{2}-\\d{2}\\.json"$`),
    );
    expect(Object.keys(body)).toEqual(["data", "total", "from", "to", "head"]);
    expect(body).toMatchObject({ total: count + 1, from: null, to: null, head: { sequence: count + 1 } });
    expect(body.data).toHaveLength(count + 1);
    expect(Object.keys(body.data[1])).toEqual([
      "event_id",
      "type",
      "outcome",
      "user_uuid",
      "org_uuid",
      "ip_address",
      "user_agent",
      "metadata",
      "created_at",
      "actor",
      "resource_type",
      "resource_id",
      "sequence",
      "previous_hash",
      "hash",
    ]);
    expect(await proven(text)).toMatch(/^Valid: 1235 events, up to number 1235, signed by key/u);
    expect(await proven(JSON.stringify(body))).toMatch(/^Valid: 1235/u);
    expect(await proven(JSON.stringify(body, undefined, 2))).toMatch(/^Valid: 1235/u);
  });

  it("the NDJSON export has one event per line", async () => {
    const { headers, text } = await get("?format=ndjson");
    expect(headers.get("content-type")).toBe("application/x-ndjson");
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { event_id: string; export?: object });
    expect(lines[0]).toMatchObject({ type: "organization.created", sequence: 1 });
    expect(new Set(lines.map(({ event_id }) => event_id)).size).toBe(lines.length);
    expect(lines.filter(({ export: summary }) => summary !== undefined)).toEqual([lines.at(-1)]);
    expect(lines.at(-1)?.export).toMatchObject({ total: lines.length, head: { sequence: lines.length } });
    expect(await proven(text)).toMatch(/^Valid/u);
  });

  it("the CSV export follows RFC 4180, and no cell is a formula", async () => {
    const evil = ["=1+1", "+1", "-1", "@x", "\ttab", "\rcr", 'quote " and, comma\nline', "plain"];
    const who = await founder(app);
    for (const _ of evil)
      await app.call("POST", "/api/auth/login", {
        body: { email: who.email, password: "wrong", org_name: who.orgName },
        headers: { "user-agent": "x" },
      });
    await runSql(
      app.databaseUrl,
      `update audit_events e set user_agent = a.agent from (select sequence, row_number() over (order by sequence) n from audit_events where org_uuid = $1 and type = 'login.password') o
      join unnest($2::text[]) with ordinality a (agent, n) using (n) where e.sequence = o.sequence`,
      [who.org, evil],
    );
    const { headers, text } = await app.call("GET", path(who, "?format=csv"), { token: who.token });
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(headers.get("content-disposition")).toContain(".csv");
    expect(
      text.startsWith(
        "event_id,type,outcome,user_uuid,org_uuid,ip_address,user_agent,metadata,created_at,actor,resource_type,resource_id\r\n",
      ),
    ).toBe(true);
    for (const cell of [
      ",'=1+1,",
      ",'+1,",
      ",'-1,",
      ",'@x,",
      ",'\ttab,",
      `,"'\rcr",`,
      ',"quote "" and, comma\nline",',
      ",plain,",
      ',"{""code"":""unauthorized"",',
    ])
      expect(text).toContain(cell);
    expect(await proven(text)).toMatch(/CSV has no chain/u);
  });

  it.each([
    ["", "text/csv", "text/csv; charset=utf-8"],
    ["", "application/x-ndjson;q=0.9, text/csv;q=0.1", "application/x-ndjson"],
    ["", "*/*", "application/json"],
    ["?format=csv", "application/json", "text/csv; charset=utf-8"],
    ["?format=json", "text/csv", "application/json"],
  ])("with %j and Accept %j is %s", async (query, accept, type) => {
    const { status, headers } = await get(query, { accept }, "HEAD");
    expect([status, headers.get("content-type")]).toEqual([200, type]);
  });

  it("the export refuses unknown formats and invalid times", async () => {
    expect(await get("?format=xml")).toMatchObject({ status: 400, body: { code: "validation_error" } });
    expect(await get("", { accept: "image/png" })).toMatchObject({ status: 406, body: { code: "not_acceptable" } });
    expect(await get("?from=never")).toMatchObject({ status: 400, body: { code: "invalid_date_range" } });
    expect(await get("?from=2026-01-02&to=2026-01-01")).toMatchObject({
      status: 400,
      body: { code: "invalid_date_range" },
    });
    const stranger = await founder(app);
    expect(await app.call("GET", path(by), { token: stranger.token })).toMatchObject({ status: 404 });
  });

  it("a HEAD request returns no body and is not recorded as an export", async () => {
    const who = await founder(app);
    expect((await app.call("HEAD", path(who), { token: who.token })).text).toBe("");
    await app.call("GET", path(who, "?format=csv&from=2020-01-01"), { token: who.token });
    const { body } = await app.call("GET", `/api/organizations/${who.org}/audit-events?type=audit.exported`, {
      token: who.token,
    });
    expect(body).toMatchObject({
      total: 1,
      data: [
        {
          actor: { type: "user", id: who.userUuid },
          metadata: { format: "csv", from: "2020-01-01T00:00:00.000Z", to: null },
        },
      ],
    });
  });

  it("the export of a time range has only its events and can be verified", async () => {
    const who = await founder(app);
    await seedEvents(app.databaseUrl, { orgUuid: who.org, events: 30, from: start });
    let exports = 0;
    for (const [query, total] of [
      [`?from=${atSecond(10)}&to=${atSecond(20)}`, 10],
      [`?from=${atSecond(10)}`, 21],
      [`?to=${atSecond(10)}`, 10],
      [`?from=2020-01-01&to=2020-01-02`, 0],
    ] as const) {
      for (const format of ["json", "ndjson"]) {
        const { text } = await app.call("GET", path(who, `${query}&format=${format}`), { token: who.token });
        const events =
          format === "json" ? (JSON.parse(text).data as object[]) : text.split("\n").filter((line) => line !== "");
        // What is open towards now also has the exports before it.
        exports += 1;
        const expected = query.includes("to=") ? total : 20 + exports;
        expect(events).toHaveLength(expected);
        expect(await proven(text, who)).toMatch(
          total === 0 ? /^EMPTY: the export has no events/u : new RegExp(`^Valid: ${expected} events`, "u"),
        );
      }
    }
  });
});

describe("a proof without the service", () => {
  type Line = Record<string, unknown> & { event_id: string };
  const lines = async (): Promise<Line[]> =>
    (await get("?format=ndjson")).text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
  const text = (all: Line[]) => `${all.map((line) => JSON.stringify(line)).join("\n")}\n`;

  it.each<[string, (all: Line[]) => Line[], number]>([
    ["a changed event", (all) => all.with(7, { ...all[7]!, ip_address: "198.51.100.1" }), 7],
    ["changed metadata", (all) => all.with(7, { ...all[7]!, metadata: {} }), 7],
    ["a removed event", (all) => all.toSpliced(7, 1), 8],
    ["events that changed places", (all) => all.toSpliced(7, 2, all[8]!, all[7]!), 8],
    ["an event twice", (all) => all.toSpliced(7, 0, all[7]!), 7],
    ["a beginning cut off", (all) => all.slice(7), 7],
    ["an event of another organization", (all) => all.with(7, { ...all[7]!, org_uuid: all[7]!.event_id }), 7],
    ["a changed link", (all) => all.with(7, { ...all[7]!, hash: "0".repeat(64) }), 7],
  ])("tells the first event broken by %s", async (_what, change, at) => {
    const all = await lines();
    expect(await proven(text(change(all)))).toMatch(new RegExp(`^NOT VALID: event ${all[at]!.event_id} `, "u"));
  });

  it("verification of an export detects a removed end and a forged head", async () => {
    const all = await lines();
    const last = all.at(-1) as Line & { export: { total: number; head: object } };
    expect(await proven(text(all.slice(0, -1)))).toMatch(/not whole/u);
    expect(
      await proven(
        text(all.slice(0, -2).concat({ ...all.at(-2)!, export: { ...last.export, total: all.length - 1 } })),
      ),
    ).toMatch(/signed head/u);
    expect(
      await proven(
        text(
          all.with(-1, {
            ...last,
            export: { ...last.export, head: { ...last.export.head, at: "2020-01-01T00:00:00.000Z" } },
          }),
        ),
      ),
    ).toMatch(/signature/u);
    expect(await proven(text(all))).toMatch(/^Valid/u);
  });

  it("verification of an export does not vouch for a signature whose key is not in the key set", async () => {
    const all = await lines();
    const signed = all.at(-1) as Line & { export: { head: { kid: string } } };
    const { head } = signed.export;
    const unknown = (kid: string) =>
      new RegExp(`^NOT VERIFIED: .*no key ${kid}, .*nothing shows that the service`, "u");
    expect(await proven(text(all), await founder(app))).toMatch(unknown(head.kid));
    const forged = { ...signed, export: { ...signed.export, head: { ...head, kid: "invented" } } };
    expect(await proven(text(all.with(-1, forged)))).toMatch(unknown("invented"));
    expect(await proven(text(all.with(7, { ...all[7]!, metadata: {} })), await founder(app))).toMatch(/^NOT VALID/u);
  });

  it("verification of an export names the line it cannot parse", async () => {
    expect(await proven("nonsense\n")).toMatch(/line 1 is not JSON/u);
    expect(await proven('{"a":1}\n')).toMatch(/not an exported audit event/u);
    expect(await proven('{"data":[{"event_id":"x"}]}')).toMatch(/not an exported audit event/u);
  });
});
