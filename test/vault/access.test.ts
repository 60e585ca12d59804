import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { secretsOf } from "./support.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_TTL_PAIR: "40d" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const forbidden = "403 forbidden";

/** What reading, writing, deleting and restoring return, by name. */
async function powers(token: string, name: string): Promise<Record<string, string>> {
  await secretsOf(app, owner).put(name, "x");
  const secrets = secretsOf(app, { org: owner.org, token });
  return {
    read: outcome(await secrets.get(name)),
    list: outcome(await secrets.list()),
    write: outcome(await secrets.put(name, "y")),
    delete: outcome(await secrets.remove(name)),
    restore: outcome(await secrets.restore(name)),
  };
}

async function key(...scopes: string[]): Promise<string> {
  const path = `/api/admin/organizations/${owner.org}/api-keys`;
  const { status, body } = await app.call("POST", path, { token: owner.token, body: { name: "k", scopes } });
  if (status !== 201) throw new Error(`the key was answered ${status}`);
  return body.api_key as string;
}

describe("who may use the vault", () => {
  test.each([
    ["admin", 1, { read: "200", list: "200", write: "200", delete: "204", restore: "200" }],
    ["employee", 3, { read: forbidden, list: forbidden, write: forbidden, delete: forbidden, restore: forbidden }],
  ])("a member with the role %s", async (_role, roleId, expected) => {
    expect(await powers((await member(app, owner, roleId)).token, `by-${roleId}`)).toEqual(expected);
  });

  test.each([
    [["read:secrets"], { read: "200", write: forbidden }],
    [["write:secrets"], { read: forbidden, write: forbidden }],
    [["vault:write"], { read: forbidden, write: forbidden }],
    [["read:secrets", "vault:write"], { read: "200", write: forbidden }],
    [["write:secrets", "vault:write"], { read: forbidden, write: "200" }],
    [["admin"], { read: "200", write: forbidden }],
    [["admin", "vault:write"], { read: "200", write: "200" }],
  ])("a key with the scopes %j", async (scopes, expected) => {
    const { read, list, write, delete: deleted, restore } = await powers(await key(...scopes), "by-key");
    expect({ read, write }).toEqual(expected);
    expect(list).toBe(read);
    expect(deleted).toBe(write === "200" ? "204" : write);
    expect(write === "200" ? restore : [restore]).toEqual(write === "200" ? "200" : [forbidden]);
  });
});

describe("names", () => {
  const names = ["a%2Fb", "..%2Fx", "a%20b", "a%00b", "%C3%A9", "a".repeat(129), "a:b", "a%25"];

  test.each(names)("the name %s returns 400 validation_error on every method", async (name) => {
    const secrets = secretsOf(app, owner);
    const answers = [
      await secrets.get(name),
      await secrets.put(name, "x"),
      await secrets.remove(name),
      await secrets.versions(name),
      await secrets.get(name, 1),
      await secrets.restore(name),
    ];
    expect(answers.map(outcome)).toEqual(Array<string>(6).fill("400 validation_error"));
  });

  test.each([".", "..", "%2E", "%2e%2E"])(
    "the name %s returns 400, from a client that does not resolve it",
    async (name) => {
      for (const method of ["GET", "PUT", "DELETE"]) {
        const sent = request(`${app.url}/`, {
          method,
          path: `/api/admin/organizations/${owner.org}/secrets/${name}`,
          headers: { authorization: `Bearer ${owner.token}`, "content-type": "application/json" },
        });
        sent.end(method === "PUT" ? '{"value":"x"}' : undefined);
        const [response] = (await once(sent, "response")) as [IncomingMessage];
        response.resume();
        expect([method, response.statusCode]).toEqual([method, 400]);
      }
    },
  );

  test("every allowed character and 128 of them make a name", async () => {
    const secrets = secretsOf(app, owner);
    for (const name of ["a", "...", ".a", "-", "_", "A-Za-z0.9_", "n".repeat(128)]) {
      expect(outcome(await secrets.put(name, name))).toBe("200");
      expect((await secrets.get(name)).body.value).toBe(name);
    }
  });
});

describe("fields", () => {
  test.each([
    [{}, "value"],
    [{ value: null }, "value"],
    [{ value: "x", tags: "a" }, "tags"],
    [{ value: "x", tags: [""] }, "tags[0]"],
    [{ value: "x", tags: ["a", "b".repeat(65)] }, "tags[1]"],
    [{ value: "x", tags: [1] }, "tags[0]"],
    [{ value: "x", tags: Array<string>(51).fill("t") }, "tags"],
    [{ value: "x", description: "d".repeat(1_025) }, "description"],
  ])("the body %j returns 400 naming %s", async (body, field) => {
    const answer = await secretsOf(app, owner).put("field", body);
    expect(answer).toMatchObject({ status: 400, body: { code: "validation_error", errors: [{ field }] } });
  });

  test("a secret has up to 50 tags of up to 64 characters, and a description of up to 1,024", async () => {
    const secrets = secretsOf(app, owner);
    const tags = Array.from({ length: 50 }, (_, at) => String(at).padEnd(64, "ü"));
    const described = { tags, description: "d".repeat(1_024) };
    expect(outcome(await secrets.put("described", { value: "x", ...described }))).toBe("200");
    expect((await secrets.get("described")).body).toMatchObject(described);
  });

  test("versions out of range return 400 or 404, never 500", async () => {
    const secrets = secretsOf(app, owner);
    await secrets.put("ranged", "x");
    for (const version of [2, 2_147_483_648, 4_294_967_295])
      expect(outcome(await secrets.get("ranged", version))).toBe("404 secret_not_found");
    for (const version of [0, -1, 4_294_967_296, 1.5])
      expect(outcome(await secrets.get("ranged", version))).toBe("400 validation_error");
  });
});

describe("lists", () => {
  test("secrets are listed by name, filtered and sorted, without values; deleted ones apart", async () => {
    const who = await founder(app);
    const secrets = secretsOf(app, who);
    for (const name of ["beta", "Alpha", "gamma_1", "delta"]) {
      await secrets.put(name, { value: `value of ${name}`, tags: [name] });
      app.clock.advance(1_000);
    }
    await secrets.put("beta", "again");
    await secrets.remove("delta");
    const names = async (query: string) =>
      (await secrets.list(query)).body.data.map((item: { name: string }) => item.name) as string[];
    const { body, text } = await secrets.list();
    expect(body).toMatchObject({ total: 3, limit: 50, offset: 0 });
    expect(body.data[1]).toEqual({ name: "beta", version: 2, tags: ["beta"], created_at: expect.any(String) });
    expect(text).not.toContain("value of");
    expect(await names("")).toEqual(["Alpha", "beta", "gamma_1"]);
    expect(await names("?sort=-name")).toEqual(["gamma_1", "beta", "Alpha"]);
    expect(await names("?sort=created_at")).toEqual(["Alpha", "gamma_1", "beta"]);
    expect(await names("?q=A_1")).toEqual(["gamma_1"]);
    expect(await names("?q=ALPH&limit=1")).toEqual(["Alpha"]);
    expect(await names("?limit=1&offset=1")).toEqual(["beta"]);
    expect((await secrets.list("?include_folders=true")).body.folders).toEqual([]);
    for (const name of ["db.main.password", "db.user", "DB.user", "dbx", "stripe.key"]) await secrets.put(name, "1");
    await secrets.remove("stripe.key");
    expect((await secrets.list("?include_folders=true&limit=1")).body.folders).toEqual([
      { name: "DB", secrets: 1 },
      { name: "db", secrets: 2 },
    ]);
    expect(await names("?folder=db&sort=-name")).toEqual(["db.user", "db.main.password"]);
    expect(await names("?folder=db&q=MAIN")).toEqual(["db.main.password"]);
    expect(await names("?folder=stripe")).toEqual([]);
    expect(await names("?folder=stripe&deleted=true")).toEqual(["stripe.key"]);
    expect((await secrets.list("?folder=db.main")).status).toBe(400);
    expect((await secrets.list("?deleted=true&q=delta")).body.data).toEqual([
      {
        name: "delta",
        version: 1,
        tags: ["delta"],
        created_at: expect.any(String),
        deleted_at: expect.any(String),
        restorable_until: expect.any(String),
      },
    ]);
    expect(outcome(await secrets.list("?sort=value"))).toBe("400 validation_error");
    app.clock.advance(30 * 86_400_000);
    expect((await secrets.list("?deleted=true")).body).toMatchObject({ data: [], total: 0 });
  });

  test("a person can make 60 writes and 600 reads a minute, counted apart", async () => {
    const limited = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_RATE_LIMITS: "on" } });
    const secrets = secretsOf(limited, await founder(limited));
    const writes = await Promise.all(Array.from({ length: 70 }, (_, at) => secrets.put(`n${at}`, "x")));
    expect(writes.filter(({ status }) => status === 200)).toHaveLength(60);
    const [refused] = writes.filter(({ status }) => status === 429);
    expect(refused?.headers.get("retry-after")).toMatch(/^\d+$/u);
    for (let read = 0; read < 600; read += 20) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => secrets.list()));
      expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    }
    expect(outcome(await secrets.list())).toBe("429 rate_limited");
    await limited.close();
  });
});
