import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { secretsOf } from "./support.ts";

let app: TestApp;
let second: TestApp;
let owner: Somebody;
let secrets: ReturnType<typeof secretsOf>;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_TTL_ACCESS: "400d", SERVICE_TTL_PAIR: "400d" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await founder(app);
  secrets = secretsOf(app, owner);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const DAY_MS = 86_400_000;

describe("writing and reading", () => {
  test("a write makes the next version, which every instance reads at once with ETag and no-store", async () => {
    const first = await secrets.put("db.password", { value: "one", tags: ["prod"], description: "main database" });
    expect(first).toMatchObject({ status: 200, body: { name: "db.password", version: 1 } });
    expect(first.headers.get("etag")).toBe('"1"');
    expect((await secrets.put("db.password", "two")).body.version).toBe(2);
    const read = await secretsOf(second, owner).get("db.password");
    expect(read.body).toEqual({
      name: "db.password",
      value: "two",
      version: 2,
      created_at: expect.stringMatching(/Z$/u),
      tags: ["prod"],
      description: "main database",
    });
    expect([read.headers.get("etag"), read.headers.get("cache-control")]).toEqual(['"2"', "no-store"]);
    const old = await secrets.get("db.password", 1);
    expect([old.body.value, old.headers.get("etag")]).toEqual(["one", '"1"']);
    expect((await secrets.versions("db.password")).body.data).toEqual([
      { version: 2, created_at: expect.any(String) },
      { version: 1, created_at: expect.any(String) },
    ]);
  });

  test("tags and description belong to the name: absent leaves them, given ones replace them", async () => {
    await secrets.put("described", { value: "", tags: ["a", "b"], description: "d" });
    await secrets.put("described", { value: "", tags: [] });
    expect((await secrets.get("described")).body).toMatchObject({ value: "", tags: [], description: "d", version: 2 });
    await secrets.put("described", { value: "x", description: "" });
    expect((await secrets.get("described")).body).toMatchObject({ value: "x", tags: [], description: "" });
    await secrets.put("bare", "x");
    expect((await secrets.get("bare")).body).toMatchObject({ tags: [], description: null });
  });

  test("names are case-sensitive, and 64 KiB are the longest value", async () => {
    await secrets.put("Case", "upper");
    expect(outcome(await secrets.get("case"))).toBe("404 secret_not_found");
    const longest = "é".repeat(32_768);
    expect((await secrets.put("long", longest)).status).toBe(200);
    expect((await secrets.get("long")).body.value).toBe(longest);
    expect(await secrets.put("long", `${longest}x`)).toMatchObject({
      status: 400,
      body: { code: "validation_error", errors: [{ field: "value" }] },
    });
  });

  test("a read, a write and a deletion are in the audit log by name and version, without the value", async () => {
    await secrets.put("audited", "an unmistakable value");
    await secrets.get("audited");
    await secrets.remove("audited");
    for (const type of ["vault.secret.written", "vault.secret.read", "vault.secret.deleted"]) {
      const [event] = await auditOf(app, owner, type);
      expect(event).toMatchObject({
        outcome: "success",
        resource_id: "audited",
        metadata: { name: "audited", version: 1 },
      });
      expect(JSON.stringify(event)).not.toContain("unmistakable");
    }
  });
});

test("parallel reads of one name return each organization and version its own value, and record each caller", async () => {
  const [stranger, colleague] = [await founder(app), await member(app, owner, 1)];
  const foreign = secretsOf(app, stranger);
  for (const value of ["1", "2"]) await secrets.put("shared", value);
  await foreign.put("shared", "theirs");
  const own = [secrets, secretsOf(app, colleague)].flatMap(({ get }) => [() => get("shared"), () => get("shared", 1)]);
  const reads = Array.from({ length: 10 }, () => [...own, () => foreign.get("shared")]).flat();
  const answers = await Promise.all(reads.map((read) => read()));
  expect(answers.map(({ body }) => body.value as string)).toEqual(
    Array<string[]>(10).fill(["2", "1", "2", "1", "theirs"]).flat(),
  );
  const readsBy = async (by: Somebody, reader: Somebody): Promise<number> =>
    (await auditOf(app, by, "vault.secret.read"))
      .filter(({ resource_id, actor }) => resource_id === "shared" && (actor as { id: string }).id === reader.userUuid)
      .reduce((sum, { metadata }) => sum + Number(metadata["reads"] ?? 1), 0);
  expect([await readsBy(owner, owner), await readsBy(owner, colleague), await readsBy(stranger, stranger)]).toEqual([
    20, 20, 10,
  ]);
});

describe("deletion", () => {
  test("a deleted secret is 404 to every read, and is restored with all its versions within 30 days", async () => {
    await secrets.put("gone", "1");
    await secrets.put("gone", { value: "2", tags: ["t"] });
    expect((await secrets.remove("gone")).status).toBe(204);
    for (const answer of [
      await secrets.get("gone"),
      await secrets.get("gone", 1),
      await secrets.versions("gone"),
      await secrets.remove("gone"),
    ])
      expect(outcome(answer)).toBe("404 secret_not_found");
    app.clock.advance(29 * DAY_MS);
    const restored = await secrets.restore("gone");
    expect(restored).toMatchObject({ status: 200, body: { name: "gone", version: 2, created_at: expect.any(String) } });
    expect(restored.headers.get("etag")).toBe('"2"');
    expect((await secrets.get("gone", 1)).body).toMatchObject({ value: "1", tags: ["t"] });
    expect(outcome(await secrets.restore("gone"))).toBe("409 conflict");
    await secrets.remove("gone");
    app.clock.advance(30 * DAY_MS);
    expect(outcome(await secrets.restore("gone"))).toBe("404 secret_not_found");
  });

  test("a write to a deleted name continues the version numbers and revives neither versions nor tags", async () => {
    await secrets.put("again", { value: "1", tags: ["old"], description: "old" });
    await secrets.put("again", "2");
    await secrets.remove("again");
    expect((await secrets.put("again", "3")).body.version).toBe(3);
    expect((await secrets.get("again")).body).toMatchObject({ value: "3", tags: [], description: null });
    expect(outcome(await secrets.get("again", 2))).toBe("404 secret_not_found");
    expect((await secrets.versions("again")).body.data).toHaveLength(1);
    await secrets.remove("again");
    await secrets.restore("again");
    expect((await secrets.versions("again")).body.data).toHaveLength(1);
  });
});
