import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callRest, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let apart: TestApp;
let withConsole: TestApp;
beforeAll(async () => {
  app = await startApp();
  apart = await startApp({ env: { SERVICE_METRICS_PORT: "1" } });
  // The folder of a build that is not there yet: its pages exist.
  withConsole = await startApp({ consoleFolder: "/nonexistent" });
});
afterAll(async () => {
  await app.close();
  await apart.close();
  await withConsole.close();
});

/** The status of a path, sent without normalization. */
function statusOf(of: TestApp, path: string, method = "GET"): Promise<number> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(of.url);
    httpRequest({ hostname, port, method, path }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    })
      .on("error", reject)
      .end();
  });
}

const spellings = (page: string): string[] => {
  const [, first = "", rest = ""] = /^\/(.)(.*)$/u.exec(page) ?? [];
  const hex = first.charCodeAt(0).toString(16);
  return [
    `/%${hex}${rest}`,
    `/%${hex.toUpperCase()}${rest}`,
    `${page.slice(0, -1)}%${page.charCodeAt(page.length - 1).toString(16)}`,
  ];
};

describe.each(["/metrics", "/healthz", "/readyz", "/dev/mailbox", "/dev/mailbox.json"])(
  "%s in percent form",
  (page) => {
    it("a page in percent form is the page or 404", async () => {
      expect(await statusOf(app, page)).toBe(200);
      for (const path of spellings(page)) expect([200, 404], path).toContain(await statusOf(app, path));
      for (const path of [
        `/${page}`,
        `${page}/`,
        `${page}%2f`,
        `/.${page}`,
        `/%2e${page}`,
        `/x%2f..${page}`,
        page.toUpperCase(),
      ])
        expect(await statusOf(app, path), path).toBe(404);
    });
  },
);

describe.each([
  "/",
  "/console",
  "/console/members",
  "/console/preview",
  "/sign-in",
  "/docs",
  "/docs/errors/not_found",
  "/docs/style.css",
  "/openapi.json",
  "/dev/mailbox",
  "/dev/mailbox.json",
])("%s with another method than GET and HEAD", (page) => {
  it("OPTIONS of a page is 204 with Allow, and other methods are 405 with Allow", async () => {
    const options = await callRest(withConsole.url, "OPTIONS", page);
    expect([options.status, options.headers.get("allow"), options.text]).toEqual([204, "GET, HEAD, OPTIONS", ""]);
    for (const method of ["POST", "PUT", "DELETE"]) {
      const answer = await callRest(withConsole.url, method, page, { body: {} });
      expect([answer.status, answer.headers.get("allow"), answer.body.code], method).toEqual([
        405,
        "GET, HEAD, OPTIONS",
        "method_not_allowed",
      ]);
    }
    const headers = { origin: "http://localhost:3000", "access-control-request-method": "GET" };
    const preflight = await callRest(withConsole.url, "OPTIONS", page, { headers });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, headers.origin]);
  });
});

it("another method on a path that is no page is 404", async () => {
  for (const path of ["/docs/nope", "/docs/errors/nope", "/consoles", "/dev/mailbox/", "/console/assets/nope.js"])
    for (const method of ["POST", "OPTIONS"]) expect(await statusOf(withConsole, path, method), path).toBe(404);
});

it("metrics with a port of their own are on no other port, under any spelling or protocol", async () => {
  for (const path of ["/metrics", ...spellings("/metrics"), "/metrics?x=1"]) {
    for (const method of ["GET", "HEAD"]) expect(await statusOf(apart, path, method), `${method} ${path}`).toBe(404);
  }
  const procedure = "/atrium.operator.v1.OperatorService/GetMetrics";
  expect((await callRest(apart.url, "POST", procedure, { body: {} })).status).toBe(404);
  expect((await callRest(apart.url, "GET", `${procedure}?connect=v1&encoding=json&message=%7B%7D`)).status).toBe(404);
});
