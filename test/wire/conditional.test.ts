import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";

let app: TestApp;
const logged: Record<string, unknown>[] = [];
let token: string;
let me: { user_uuid: string; org_uuid: string };
beforeAll(async () => {
  app = await startApp({
    log: createLog({
      level: "info",
      destination: { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
    }),
  });
  token = await app.login();
  me = (await app.call("GET", "/api/auth/me", { token })).body;
});
afterAll(() => app.close());

const read = (path: string, known?: string, method = "GET") =>
  app.call(method, path, { token, headers: known === undefined ? {} : { "if-none-match": known } });

describe("Conditional requests", () => {
  it.each(["picture", "organization's key set", "instance's key set"])(
    "the %s is returned as 304 while it has not changed",
    async (what) => {
      const path =
        what === "picture"
          ? `/api/users/${me.user_uuid}/picture`
          : what.startsWith("org")
            ? `/api/organizations/${me.org_uuid}/.well-known/jwks.json`
            : "/.well-known/jwks.json";
      const first = await read(path);
      const etag = first.headers.get("etag") ?? "";
      expect(first.status).toBe(200);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        for (const method of ["GET", "HEAD"]) {
          const again = await read(path, known, method);
          expect(
            [again.status, again.text, again.headers.get("etag"), again.headers.get("cache-control")],
            known,
          ).toEqual([304, "", etag, first.headers.get("cache-control")]);
          expect(again.headers.get("content-type")).toBeNull();
        }
      }
      for (const known of ['"other"', etag.replaceAll('"', ""), `"${etag.slice(1, -2)}"`, ""])
        expect((await read(path, known)).status, known).toBe(200);
    },
  );

  it("the access log names the caller and the organization, and nobody for an anonymous call", async () => {
    logged.length = 0;
    await read(`/api/users/${me.user_uuid}/picture`);
    await app.call("GET", "/.well-known/jwks.json");
    const [known, anonymous] = logged.filter(({ msg }) => msg === "request");
    expect(known).toMatchObject({ principal_type: "user", principal_id: me.user_uuid, org_uuid: me.org_uuid });
    for (const name of ["principal_type", "principal_id", "org_uuid", "trace_id"])
      expect(anonymous).not.toHaveProperty(name);
  });

  it("the access log has the status of a conditional response", async () => {
    logged.length = 0;
    await read("/.well-known/jwks.json", "*");
    await read("/.well-known/jwks.json");
    expect(logged.filter(({ msg }) => msg === "request").map(({ status }) => status)).toEqual([304, 200]);
  });

  it("a representation is sent again once it has changed", async () => {
    const path = `/api/organizations/${me.org_uuid}/.well-known/jwks.json`;
    const etag = (await read(path)).headers.get("etag") ?? "";
    expect(
      (
        await app.call("POST", `/api/admin/organizations/${me.org_uuid}/signing-keys/rotate`, {
          token: await elevate(app, token),
        })
      ).status,
    ).toBe(200);
    expect((await read(path, etag)).status).toBe(200);
  });

  it("a condition is checked after the caller, and only where there is an ETag", async () => {
    expect(
      (await app.call("GET", `/api/users/${me.user_uuid}/picture`, { headers: { "if-none-match": "*" } })).status,
    ).toBe(401);
    expect((await read("/api/users/0b1d2a3e-aaaa-4000-8000-00000000000f/picture", "*")).status).toBe(404);
    expect((await read("/api/profile", "*")).status).toBe(200);
  });
});
