import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebhooksService } from "../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { INTERVAL_MS } from "../../src/server/credential-watch.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { founder, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { target } from "./client.ts";
import { workload } from "./workload.ts";
import type { Workload } from "./workload.ts";

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

/** Registers a webhook and opens a stream of its deliveries; resolves, once its head is there, to how it ends. */
async function open({ token }: Somebody, svid: Workload): Promise<{ end: Promise<unknown> }> {
  const body = { url: "http://127.0.0.1:9/", events: ["install.active"] };
  const webhook = await app.call("POST", "/api/v2/webhooks", { token, body });
  const { url, ca } = target(app);
  const nodeOptions = { ca, cert: svid.cert, key: svid.key, servername: "localhost" };
  const head = Promise.withResolvers<unknown>();
  const end = createClient(WebhooksService, createGrpcTransport({ baseUrl: url, nodeOptions }))
    .watchDeliveries({ webhookId: webhook.body.webhook_id }, { onHeader: head.resolve })
    [Symbol.asyncIterator]()
    .next()
    .then(
      (next) => next,
      (error: unknown) => ConnectError.from(error),
    );
  await Promise.race([head.promise, end]);
  return { end };
}

describe("a stream of an SVID ends by itself", () => {
  const identityOf = (owner: Somebody, { identityId }: Workload): string =>
    `/api/organizations/${owner.org}/service-identities/${identityId}`;
  type End = (owner: Somebody, svid: Workload) => Promise<Answer>;
  const ends: [what: string, code: Code, end: End][] = [
    [
      "once the SVID has been revoked",
      Code.Unauthenticated,
      ({ token }, { svidId }) => second.call("DELETE", `/api/auth/spiffe/svids/${svidId}`, { token }),
    ],
    [
      "once its identity has been deleted",
      Code.Unauthenticated,
      (owner, svid) => second.call("DELETE", identityOf(owner, svid), { token: owner.token }),
    ],
    [
      "once its organization has been deleted",
      Code.Unauthenticated,
      async ({ org, token }) =>
        second.call("DELETE", `/api/organizations/${org}`, { token: await elevate(second, token, password) }),
    ],
    [
      "once its identity has a role that may not read the stream",
      Code.PermissionDenied,
      (owner, svid) => second.call("PATCH", identityOf(owner, svid), { token: owner.token, body: { role_id: 4 } }),
    ],
  ];
  test.each(ends)("%s on another instance", async (_what, code, end) => {
    const owner = await founder(app);
    const svid = await workload(app, owner);
    const stream = await open(owner, svid);
    expect((await end(owner, svid)).status).toBeLessThan(300);
    expect(await stream.end).toMatchObject({ code });
  });
});

test("credentials of open streams are checked so often that a stream ends within a second", () => {
  expect(2 * INTERVAL_MS).toBeLessThanOrEqual(1_000);
});
