import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { persistently } from "../support/persistently.ts";

let app: TestApp;
let second: TestApp;
let owner: Somebody;
let employee: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await founder(app);
  employee = await member(app, owner);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const CONFIG = "/api/ops/ai-gateway-config";
const ROUTING = "/api/ops/ai-routing-config";
const SERVERS = "/api/ops/mcp-servers";

async function lastEvent(type: string): Promise<Record<string, unknown>> {
  const { body } = await app.call("GET", `/api/organizations/${owner.org}/audit-events?type=${type}`, {
    token: owner.token,
  });
  return body.data[0];
}

describe("the AI gateway configuration", () => {
  test("provider and budget are null before the first PUT, then read on every instance at once", async () => {
    const other = await founder(app);
    expect(await app.call("GET", CONFIG, { token: other.token })).toMatchObject({
      status: 200,
      body: { provider: null, budget_usd: null },
    });
    for (const [provider, budget] of [
      ["openai", 0],
      ["anthropic", 1_000_000_000],
      ["google", 0.01],
      ["mistral", 12345678.91],
      ["bedrock", 1234.5],
    ] as const) {
      const put = await app.call("PUT", CONFIG, {
        token: other.token,
        body: { provider, budget_usd: budget },
      });
      expect(put).toMatchObject({ status: 200, body: { ok: true } });
      const read = await second.call("GET", CONFIG, { token: other.token });
      expect(read.body).toEqual({ provider, budget_usd: budget });
    }
  });

  test("a change is in the audit log, with the budget as an exact decimal", async () => {
    await app.call("PUT", CONFIG, { token: owner.token, body: { provider: "openai", budget_usd: 19.99 } });
    expect(await lastEvent("ai.gateway_updated")).toMatchObject({
      metadata: { provider: "openai", budget_usd: "19.99" },
    });
  });

  test("an unknown provider returns 400 unknown_provider, and a bad budget 400 invalid_budget", async () => {
    await app.call("PUT", CONFIG, { token: owner.token, body: { provider: "openai", budget_usd: 7 } });
    const put = async (body: unknown) => {
      const { status, body: answer } = await app.call("PUT", CONFIG, { token: owner.token, body });
      return [status, answer.code];
    };
    for (const provider of ["OpenAI", "azure", "open ai"])
      expect(await put({ provider, budget_usd: 1 })).toEqual([400, "unknown_provider"]);
    for (const budget of [-0.01, 0.001, 1e9 + 1, 1e300, 1e-7, "NaN", "Infinity", 1.005])
      expect(await put({ provider: "openai", budget_usd: budget })).toEqual([400, "invalid_budget"]);
    for (const body of [{ provider: "openai" }, { budget_usd: 1 }, { provider: 1, budget_usd: 1 }, {}])
      expect(await put(body)).toEqual([400, expect.stringMatching(/^(validation_error|bad_request)$/u)]);
    expect((await app.call("GET", CONFIG, { token: owner.token })).body).toEqual({
      provider: "openai",
      budget_usd: 7,
    });
  });

  test("members without the role admin read the configuration and cannot change it", async () => {
    expect((await app.call("GET", CONFIG, { token: employee.token })).status).toBe(200);
    const body = { provider: "openai", budget_usd: 1 };
    expect(await app.call("PUT", CONFIG, { token: employee.token, body })).toMatchObject({
      status: 403,
      body: { code: "forbidden" },
    });
  });
});

describe("the AI routing configuration", () => {
  test("models are null before the first PUT, then what was set", async () => {
    expect((await app.call("GET", ROUTING, { token: owner.token })).body).toEqual({
      slm: null,
      llm: null,
      auto_escalate: false,
    });
    const body = { slm: "small-1", llm: "L".repeat(200), auto_escalate: true };
    expect(await app.call("PUT", ROUTING, { token: owner.token, body })).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    expect((await second.call("GET", ROUTING, { token: owner.token })).body).toEqual(body);
    expect(await lastEvent("ai.routing_updated")).toMatchObject({ metadata: body });
    const other = { slm: "small-2", llm: "large-2", auto_escalate: false };
    expect((await app.call("PUT", ROUTING, { token: owner.token, body: other })).status).toBe(200);
    expect((await app.call("GET", ROUTING, { token: owner.token })).body).toEqual(other);
  });

  test("every member is demanded, and a name has 1 to 200 characters", async () => {
    for (const [change, field] of [
      [{ slm: "" }, "slm"],
      [{ llm: "x".repeat(201) }, "llm"],
      [{ auto_escalate: undefined }, "auto_escalate"],
    ] as const) {
      const body = { slm: "a", llm: "b", auto_escalate: false, ...change };
      expect(await app.call("PUT", ROUTING, { token: owner.token, body })).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field }] },
      });
    }
  });
});

describe("MCP servers", () => {
  const add = (body: unknown, token = owner.token) => app.call("POST", SERVERS, { token, body });

  test("the organization's own servers are listed among the built-in ones, by name", async () => {
    const made = await add({ name: "aa-tools", install_command: "npx aa-tools" });
    expect(made).toMatchObject({
      status: 201,
      body: { name: "aa-tools", status: "available", install_command: "npx aa-tools", built_in: false },
    });
    const { data } = (await app.call("GET", SERVERS, { token: employee.token })).body;
    const names = data.map(({ name }: { name: string }) => name);
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining(["aa-tools", "fetch", "filesystem", "git"]));
    expect(data).toContainEqual(expect.objectContaining({ name: "aa-tools", built_in: false }));
    expect(data).toContainEqual(expect.objectContaining({ name: "fetch", built_in: true }));
    const other = await founder(app);
    expect(JSON.stringify((await app.call("GET", SERVERS, { token: other.token })).body)).not.toContain("aa-tools");
  });

  test("a name that is taken returns 409 conflict, of a built-in server too, once among concurrent requests", async () => {
    expect(await add({ name: "fetch", install_command: "x" })).toMatchObject({
      status: 409,
      body: { code: "conflict" },
    });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => add({ name: "raced", install_command: "x", status: "installed" })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(9).fill(409)]);
  });

  test("an organization has at most 200 servers of its own, also under concurrent requests", async () => {
    const many = await founder(app);
    const answers: Awaited<ReturnType<typeof add>>[] = [];
    // In waves of what an organization may do at once without waiting long.
    for (let wave = 0; wave < 5; wave++)
      answers.push(
        ...(await Promise.all(
          Array.from({ length: 41 }, (_, nth) =>
            persistently(() => add({ name: `server ${wave}-${nth}`, install_command: "x" }, many.token)),
          ),
        )),
      );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
    const { body } = await app.call("GET", SERVERS, { token: many.token });
    expect(body.data.filter(({ name }: { name: string }) => name.startsWith("server "))).toHaveLength(200);
  });

  test("own servers can be deleted once; a built-in one returns 409, an unknown or foreign one 404", async () => {
    const { body } = await add({ name: "short-lived", install_command: "x", status: "disabled" });
    const remove = (id: string, token = owner.token) => app.call("DELETE", `${SERVERS}/${id}`, { token });
    const stranger = await founder(app);
    expect((await remove(body.id, stranger.token)).status).toBe(404);
    expect((await remove(body.id, employee.token)).status).toBe(403);
    expect((await remove(body.id)).status).toBe(204);
    expect((await remove(body.id)).status).toBe(404);
    const { data } = (await app.call("GET", SERVERS, { token: owner.token })).body;
    const builtIn = data.find(({ name }: { name: string }) => name === "git");
    expect(await remove(builtIn.id)).toMatchObject({ status: 409, body: { code: "conflict" } });
    expect(await remove("not-a-uuid")).toMatchObject({ status: 400, body: { code: "invalid_uuid" } });
  });

  test("a server has the status it is given, available by default, and every member in the list", async () => {
    for (const status of [undefined, "available", "installed", "disabled"]) {
      const wish = { name: `is ${status} ${randomUUID()}`, install_command: "npx x", ...(status && { status }) };
      const { body } = await add(wish);
      const { id } = body as { id: string };
      expect(body).toEqual({ id, ...wish, status: status ?? "available", built_in: false });
      expect((await app.call("GET", SERVERS, { token: owner.token })).body.data).toContainEqual(body);
    }
  });

  test("a bad status, an empty name or a long command returns 400 naming the field", async () => {
    for (const [change, field] of [
      [{ status: "gone" }, "status"],
      [{ name: "" }, "name"],
      [{ install_command: "x".repeat(2_001) }, "install_command"],
    ] as const)
      expect(await add({ name: "n", install_command: "c", ...change })).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field }] },
      });
  });
});
