import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

const ORIGIN = "https://app.test";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_CORS_ORIGINS: ORIGIN } });
});
afterAll(() => app.close());

it.each(["/.well-known/jwks.json", "/openapi.json", "/docs/errors", "/docs/style.css"])(
  "%s varies by origin, so that caches keep it apart for pages of another origin",
  async (path) => {
    const plain = await app.call("GET", path);
    expect([plain.status, plain.headers.get("access-control-allow-origin")]).toEqual([200, null]);
    const fromPage = await app.call("GET", path, { headers: { origin: ORIGIN } });
    expect([fromPage.status, fromPage.headers.get("access-control-allow-origin")]).toEqual([200, ORIGIN]);
    for (const { headers } of [plain, fromPage])
      expect(headers.get("vary")?.toLowerCase().split(", ")).toContain("origin");
  },
);

it("documents are compressed for clients that accept gzip, and for no other", async () => {
  const codingFor = async (accepted: string): Promise<string | null> =>
    (await app.call("GET", "/openapi.json", { headers: { "accept-encoding": accepted } })).headers.get(
      "content-encoding",
    );
  for (const accepted of ["gzip", "br, gzip;q=0.1", "*", "x-gzip"]) expect(await codingFor(accepted)).toBe("gzip");
  for (const accepted of ["gzip;q=0, identity", "br", "identity", "not-gzip", "*;q=0"])
    expect(await codingFor(accepted)).toBeNull();
});

it("a document is not sent again to a client that has any version of it, or this one weakly", async () => {
  const etag = (await app.call("GET", "/openapi.json")).headers.get("etag") ?? "";
  const statusFor = async (known: string): Promise<number> =>
    (await app.call("GET", "/openapi.json", { headers: { "if-none-match": known } })).status;
  expect(await Promise.all(["*", `W/${etag}`, `"other", ${etag}`, '"other"'].map(statusFor))).toEqual([
    304, 304, 304, 200,
  ]);
});
