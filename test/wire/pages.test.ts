import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callRest, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let apart: TestApp;
beforeAll(async () => {
  app = await startApp();
  apart = await startApp({ env: { SERVICE_METRICS_PORT: "1" } });
});
afterAll(async () => {
  await app.close();
  await apart.close();
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

it("metrics with a port of their own are on no other port, under any spelling or protocol", async () => {
  for (const path of ["/metrics", ...spellings("/metrics"), "/metrics?x=1"]) {
    for (const method of ["GET", "HEAD"]) expect(await statusOf(apart, path, method), `${method} ${path}`).toBe(404);
  }
  const procedure = "/atrium.operator.v1.OperatorService/GetMetrics";
  expect((await callRest(apart.url, "POST", procedure, { body: {} })).status).toBe(404);
  expect((await callRest(apart.url, "GET", `${procedure}?connect=v1&encoding=json&message=%7B%7D`)).status).toBe(404);
});
