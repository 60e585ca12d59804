import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BuyerService } from "../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { PublisherService } from "../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { target } from "./client.ts";
import { workload } from "./workload.ts";
import type { Workload } from "./workload.ts";

let app: TestApp;
let second: TestApp;
let token: string;
let org: string;
let installId: string;
beforeAll(async () => {
  app = await startApp();
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  token = await app.login();
  org = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid as string;
  installId = await install();
});
afterAll(async () => {
  await second.close();
  await app.close();
});

/** An install that waits for its publisher, for want of a worker. */
async function install(): Promise<string> {
  const transport = createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" });
  const as = { headers: { authorization: `Bearer ${token}` } };
  const publisher = createClient(PublisherService, transport);
  const { appId } = await publisher.publishApp(
    {
      name: "Waiting",
      slug: "waiting",
      description: "Waits for its publisher",
      deploymentModes: ["multi_tenant"],
      pricingModel: "seat",
      basePriceCents: 100,
      currency: "usd",
      provisionWebhook: "http://127.0.0.1:9/hook",
    },
    as,
  );
  await publisher.approveApp({ appId }, as);
  return (await createClient(BuyerService, transport).installApp({ slug: "waiting", quantity: 1 }, as)).installId;
}

describe("a stream of an SVID ends within a second", () => {
  const ends: [what: string, end: (svid: Workload) => [path: string]][] = [
    ["once the SVID has been revoked", ({ svidId }) => [`/api/auth/spiffe/svids/${svidId}`]],
    [
      "once its identity has been deleted",
      ({ identityId }) => [`/api/organizations/${org}/service-identities/${identityId}`],
    ],
  ];
  test.each(ends)("%s on another instance", async (_what, end) => {
    const svid = await workload(app, { org, token });
    const { url, ca } = target(app);
    const nodeOptions = { ca, cert: svid.cert, key: svid.key, servername: "localhost" };
    const stream = createClient(BuyerService, createGrpcTransport({ baseUrl: url, nodeOptions }))
      .watchInstall({ installId })
      [Symbol.asyncIterator]();
    expect((await stream.next()).value).toMatchObject({ installId });
    const ended = stream.next().then(
      () => undefined,
      (error: unknown) => error,
    );
    const [path] = end(svid);
    expect((await second.call("DELETE", path, { token })).status).toBe(204);
    const from = performance.now();
    const error = await ended;
    expect(ConnectError.from(error).code).toBe(Code.Unauthenticated);
    // Ten times what is promised: the machine may be busy.
    expect(performance.now() - from).toBeLessThan(10_000);
  });
});
