import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BuyerService } from "../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { waitingInstall } from "../marketplace/stage.ts";
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
  installId = await waitingInstall(app, token);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

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
    expect(ConnectError.from(await ended).code).toBe(Code.Unauthenticated);
  });
});
