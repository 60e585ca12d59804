import { createClient, Code, ConnectError } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OperatorService } from "../../gen/atrium/operator/v1/operator_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { flakyLink } from "../support/flaky-link.ts";
import type { FlakyLink } from "../support/flaky-link.ts";

let home: TestDatabase;
let link: FlakyLink;
let app: TestApp;
beforeAll(async () => {
  home = await testDatabase();
  const direct = new URL(home.url);
  link = await flakyLink({ host: direct.hostname, port: Number(direct.port) });
  direct.port = String(link.port);
  app = await startApp({ databaseUrl: direct.href });
});
afterAll(async () => {
  await link.restore();
  await app.close();
  await link.close();
  await home.close();
});

/** The report after the one cached for a second has expired. */
const readyz = (method = "GET") => {
  app.clock.advance(2_000);
  return app.call(method, "/readyz");
};

test("GET /readyz returns the report, with 503 while the database is away", async () => {
  const well = await readyz();
  expect([well.status, well.body]).toEqual([
    200,
    { status: "ok", database: "ok", migrations: "ok", temporal: expect.any(String), vault: "ok" },
  ]);
  await link.cut();
  const away = await readyz();
  expect([
    away.status,
    away.headers.get("content-type"),
    away.headers.get("retry-after"),
    away.headers.get("cache-control"),
  ]).toEqual([503, "application/json", "1", "no-store"]);
  expect(away.body).toMatchObject({ status: "unavailable", database: "unreachable", vault: "ok" });
  expect(Object.keys(away.body as object).sort()).toEqual(["database", "migrations", "status", "temporal", "vault"]);
  const head = await readyz("HEAD");
  expect([head.status, head.text]).toEqual([503, ""]);
  const operator = createClient(OperatorService, createGrpcTransport({ baseUrl: app.url }));
  const refusal = ConnectError.from(await operator.getReadiness({}).catch((error: unknown) => error));
  expect([refusal.code, refusal.rawMessage]).toEqual([
    Code.Unavailable,
    expect.stringMatching(/^Not ready: database: unreachable/u),
  ]);
  expect((await app.call("GET", "/healthz")).status).toBe(200);
  await link.restore();
  await expect.poll(async () => (await readyz()).status).toBe(200);
});

test("GET /readyz reports a sealed vault without being unready when there is no master key", async () => {
  const sealed = await startApp({ sealedVault: true });
  try {
    const { status, body } = await sealed.call("GET", "/readyz");
    expect([status, body]).toMatchObject([200, { status: "ok", vault: "sealed" }]);
  } finally {
    await sealed.close();
  }
});
