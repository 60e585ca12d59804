import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { RbacService } from "../../gen/atrium/rbac/v1/rbac_pb.ts";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
let roleId: number;
let path: string;
let roles = 0;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
beforeEach(async () => {
  const body = { name: `Auditor ${++roles}`, permissions: [{ id: 1 }, { id: 2 }] };
  const made = await app.call("POST", "/api/v2/products/p/roles", { token: owner.token, body });
  roleId = made.body.data.id as number;
  path = `/api/roles/${roleId}/permissions`;
});
afterAll(() => app.close());

async function granted(): Promise<number[]> {
  const { data } = (await app.call("GET", path, { token: owner.token })).body as { data: { id: number }[] };
  return data.map(({ id }) => id);
}

const transports = {
  "Connect with JSON": () => createConnectTransport({ baseUrl: app.url, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect with binary messages": () =>
    createConnectTransport({ baseUrl: app.url, httpVersion: "1.1", useBinaryFormat: true }),
  gRPC: () => createGrpcTransport({ baseUrl: app.url }),
  "gRPC with JSON": () => createGrpcTransport({ baseUrl: app.url, useBinaryFormat: false }),
  "gRPC-Web": () => createGrpcWebTransport({ baseUrl: app.url, httpVersion: "1.1", useBinaryFormat: true }),
};

describe.each(Object.entries(transports))("The permissions of a role over %s", (_name, transport) => {
  const replace = (request: { permissions?: number[]; removeAll?: boolean }) =>
    createClient(RbacService, transport()).replaceRolePermissions(
      { roleId, ...request },
      { headers: { authorization: `Bearer ${owner.token}` } },
    );

  it("permissions of a role are not emptied by a stock client whose request names none", async () => {
    for (const request of [{}, { permissions: [] }]) {
      const refused = await replace(request).catch((reason: unknown) => ConnectError.from(reason));
      expect(refused).toMatchObject({ code: Code.InvalidArgument });
      const [violation] = (refused as ConnectError).findDetails(BadRequestSchema)[0]?.fieldViolations ?? [];
      expect(violation).toMatchObject({ field: "permissions", reason: "REQUIRED" });
    }
    expect(await granted()).toEqual([1, 2]);
  });

  it("permissions of a role are all taken away by remove_all, which is refused beside permissions", async () => {
    await expect(replace({ permissions: [2], removeAll: true })).rejects.toMatchObject({ code: Code.InvalidArgument });
    expect((await replace({ permissions: [2] })).data.map(({ id }) => id)).toEqual([2]);
    expect((await replace({ removeAll: true })).data).toEqual([]);
    expect(await granted()).toEqual([]);
  });
});

const jsonCalls = {
  REST: (body: object) => app.call("PUT", path, { token: owner.token, body }),
  Connect: (body: object) =>
    app.call("POST", "/atrium.rbac.v1.RbacService/ReplaceRolePermissions", {
      token: owner.token,
      body: { role_id: roleId, ...body },
    }),
};

describe.each(Object.entries(jsonCalls))("The permissions of a role as JSON over %s", (_name, call) => {
  it("permissions of a role are emptied by an empty list or remove_all, not by an absent member", async () => {
    for (const body of [{}, { permissions: null }, { permission: [1] }, { remove_all: false }])
      expect((await call(body)).status, JSON.stringify(body)).toBe(400);
    expect((await call({ permissions: [1], remove_all: true })).status).toBe(400);
    expect(await granted()).toEqual([1, 2]);
    for (const body of [{ permissions: [] }, { remove_all: true }, { permissions: [], removeAll: true }]) {
      expect((await call({ permissions: [2] })).status).toBe(200);
      expect((await call(body)).status, JSON.stringify(body)).toBe(200);
      expect(await granted()).toEqual([]);
    }
  });
});
