import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UsersService } from "../../gen/atrium/users/v1/index.ts";
import { bearer, createAtrium, createRestCall } from "../../src/clients/typescript/index.ts";
import { createPublisher } from "../../src/clients/typescript/publisher/index.ts";
import { createVerifier } from "../../src/clients/typescript/verify/index.ts";
import { newWebhookSecret } from "../../src/platform/outgoing/signature.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { ISSUER, makeIssuer } from "./issuer.ts";
import { whileListening } from "./listening.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ clock: systemClock });
});
afterAll(() => app.close());

/** Cloudflare's `fetch`, which implements no "error". */
const workerFetch: typeof globalThis.fetch = (input, init) => {
  if (init?.redirect === "error") throw new TypeError('Invalid redirect value, must be one of "follow" or "manual".');
  return globalThis.fetch(input, init);
};
const secret = newWebhookSecret(systemRandom);
const on = { provision: () => ({ status: "accepted" }) as const, deprovision: () => undefined };
const { listUsers } = UsersService.method;

it("calls, REST calls and verifiers work with a fetch that does not know the redirect mode error", async () => {
  const token = await app.login();
  const options = { baseUrl: app.url, credential: bearer(token), fetch: workerFetch };
  await expect(createAtrium(options).access.getMe({})).resolves.toMatchObject({ email: app.owner.email });
  expect((await createRestCall(options)(listUsers, "/api/users")).status).toBe(200);
  const verifier = createVerifier({ issuer: ISSUER, baseUrl: app.url, introspect: true, fetch: workerFetch });
  await expect(verifier.verify(token)).resolves.toMatchObject({ orgName: "Acme" });
});

describe("a redirect", () => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  let baseUrl: string;
  whileListening(server, (url) => {
    baseUrl = url;
  });

  it.each([
    ["a call", () => createAtrium({ baseUrl, retries: 0 }).access.getMe({})],
    ["a call over REST", () => createRestCall({ baseUrl, retries: 0 })(listUsers, "/api/users", { method: "POST" })],
    ["a verifier", async () => createVerifier({ issuer: ISSUER, baseUrl }).verify(await (await makeIssuer()).sign())],
  ])("%s follows no redirect", async (_name, call) => {
    await expect(call()).rejects.toMatchObject({ errorCode: "unavailable" });
    expect(paths).not.toContain("/elsewhere");
  });

  it("a report follows no redirect", async () => {
    let asked = 0;
    const fetch: typeof globalThis.fetch = (input, init) => {
      if (asked++ === 0) return globalThis.fetch(input, init);
      return Promise.resolve(new Response("{}"));
    };
    await createPublisher({ secret, baseUrl, on, fetch }).report("i1", { status: "failed" });
    expect(asked).toBe(2);
    expect(paths).not.toContain("/elsewhere");
  });
});
