import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, it } from "vitest";
import { bindings, routeTable } from "../shape/contract-routes.ts";

interface Operation {
  operationId: string;
  security: Record<string, string[]>[];
  responses: Record<string, unknown>;
  parameters?: { name: string; in: string }[];
  "x-atrium-rpc": string;
}
const text = readFileSync(new URL("../../gen/openapi.json", import.meta.url), "utf8");
const document = JSON.parse(text) as { openapi: string; paths: Record<string, Record<string, Operation>> };
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

it("gen/openapi.json is a valid OpenAPI 3.1 document", async () => {
  const { valid, errors } = await new Validator().validate(text);
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
  expect(document.openapi).toBe("3.1.0");
});

it("the document has the routes of the route table, with their success statuses, and no others", () => {
  const listed = operations.map(({ path, method, operation }) => {
    const success = Object.keys(operation.responses).filter((status) => status < "400" && status !== "304");
    return `${method} ${path} ${success.join(" ")}`;
  });
  expect(listed.sort()).toEqual(
    routeTable()
      .map(({ method, path, status }) => `${method} ${path} ${status}`)
      .sort(),
  );
});

it("every binding names its rpc, and no two operations have the same id", () => {
  const named = new Set(operations.map(({ operation }) => operation["x-atrium-rpc"]));
  expect(named).toEqual(new Set(bindings().map(({ rpc }) => `${rpc.parent.typeName}/${rpc.name}`)));
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
});

it("the document has the headers of requests, and 304 beside 200 where a response has an ETag", () => {
  const headersOf = (id: string): string[] => {
    const found = operations.find(({ operation }) => operation.operationId === id)?.operation;
    return found?.parameters?.flatMap((one) => (one.in === "header" ? [one.name] : [])) ?? [];
  };
  expect(headersOf("Login_Login")).toEqual(["X-Device-Uuid", "X-Atrium-Session"]);
  expect(headersOf("Login_AcceptInvite")).toEqual(["Idempotency-Key", "X-Device-Uuid", "X-Atrium-Session"]);
  expect(headersOf("Sessions_SwitchDeviceAccount")).toEqual(["Idempotency-Key", "X-Atrium-Session"]);
  for (const id of ["Login_Refresh", "Login_Logout"]) expect(headersOf(id)).toEqual(["X-Atrium-Session"]);
  for (const id of ["Vault_DeleteSecret", "Scim_PatchUser", "Scim_DeleteGroup"])
    expect(headersOf(id)).toEqual(["If-Match"]);
  expect(headersOf("Vault_PutSecret")).toEqual(["If-Match", "If-None-Match"]);
  const conditional = operations.filter(({ operation }) => "304" in operation.responses);
  expect(conditional.map(({ path }) => path)).toContain("/.well-known/jwks.json");
  for (const { method, operation } of conditional) {
    expect([method, Object.keys(operation.responses)[0]], operation.operationId).toEqual(["GET", "200"]);
    expect(headersOf(operation.operationId)).toContain("If-None-Match");
  }
});

it("no member is required that a request may leave out: in cookie mode the cookie carries the refresh token", () => {
  const { schemas } = (document as unknown as { components: { schemas: Record<string, { required?: string[] }> } })
    .components;
  expect(schemas["RefreshRequest"]?.required).toBeUndefined();
  expect(schemas["LoginRequest"]?.required).toContain("password");
});

it("a number that a request must have is at least 1: 0 counts as left out", () => {
  interface WithMinimum {
    properties: Record<string, { minimum?: number }>;
  }
  const { schemas } = (document as unknown as { components: { schemas: Record<string, WithMinimum> } }).components;
  expect(schemas["PermissionReference"]?.properties["id"]?.minimum).toBe(1);
});

it("every reference in the document leads to a component", () => {
  const targets = new Set([...text.matchAll(/"\$ref": "#\/([^"]+)"/gu)].map(([, target = ""]) => target));
  const missing = [...targets].filter(
    (target) =>
      target.split("/").reduce((at: unknown, key) => (at as Record<string, unknown>)?.[key], document) === undefined,
  );
  expect(targets.size).toBeGreaterThan(200);
  expect(missing).toEqual([]);
});
