import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let token: string;
const lost: unknown[] = [];
const note = (reason: unknown): void => void lost.push(reason);
beforeAll(async () => {
  process.on("unhandledRejection", note);
  app = await startApp();
  token = await app.login();
});
afterAll(async () => {
  process.off("unhandledRejection", note);
  await app.close();
});

it("a refusal after its deadline is discarded and does not end the process", async () => {
  const tries = Array.from({ length: 60 }, (_, at) =>
    app.call("POST", "/atrium.marketplace.v1.PublisherService/ListAdmins", {
      token,
      body: { app_id: randomUUID() },
      headers: { "connect-timeout-ms": String(1 + (at % 4)) },
    }),
  );
  for (const { status } of await Promise.all(tries)) expect([404, 504]).toContain(status);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(lost).toEqual([]);
});

it.each([
  ["no base64", "encoding=json&message=%7B%7D%7D&base64=1"],
  ["no gzip", "encoding=json&message=%7B%7D&compression=gzip"],
  ["half a gzip stream", `encoding=json&message=H4sIAAAAAAAA&base64=1&compression=gzip`],
  ["no message", "encoding=proto&message=%FF%FF"],
])("a Connect GET with %s is an error of the caller", async (_what, query) => {
  const answer = await app.call("GET", `/atrium.access.v1.AccessService/GetMe?connect=v1&${query}`, { token });
  expect(answer).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
});

it("an unavailable dependency is named without its address", async () => {
  const { body } = await app.call("GET", "/readyz");
  expect(body).toMatchObject({ status: "ok", database: "ok", temporal: "not reachable" });
});
