import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BuyerService } from "../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { listenToStatements } from "../lists/statements.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { openMarket, signUp } from "../support/market.ts";
import type { InstallBody, Market, Offer } from "../support/market.ts";
import { outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { must } from "./stage.ts";

const statements = listenToStatements();
let app: TestApp;
let market: Market;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,100ms" },
  });
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
});

const accepting = (): Promise<Offer> =>
  market.offer(({ type }) => ({ status: type === "install.provisioning" ? 202 : 204 }));
const giveBack = async (installId: string): Promise<void> =>
  void must(await app.call("DELETE", `/api/installs/${installId}`, { token: market.buyer }));

/** Records of a watch over REST, as they come. */
async function* watchRest(installId: string, signal: AbortSignal): AsyncGenerator<InstallBody> {
  const response = await fetch(`${app.url}/api/installs/${installId}/watch`, {
    headers: { authorization: `Bearer ${market.buyer}` },
    signal,
  });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
  let rest = "";
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + part).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as InstallBody;
  }
  expect(rest).toBe("");
}

/** The same over Connect and gRPC, as status and length of the timeline. */
async function* watchRpc(
  protocol: string,
  installId: string,
  signal: AbortSignal,
): AsyncGenerator<{ status: string; timeline: unknown[] }> {
  const transport =
    protocol === "gRPC"
      ? createGrpcTransport({ baseUrl: app.url })
      : createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" });
  yield* createClient(BuyerService, transport).watchInstall(
    { installId },
    { headers: { authorization: `Bearer ${market.buyer}` }, signal },
  );
}

describe.each(["REST", "Connect", "gRPC"])("watching an install over %s", (protocol) => {
  const watch = (installId: string, signal: AbortSignal): AsyncGenerator<{ status: string; timeline: unknown[] }> =>
    protocol === "REST" ? watchRest(installId, signal) : watchRpc(protocol, installId, signal);

  it("watching an install yields its present state, then every change, and ends when it is deprovisioned", async () => {
    const offer = await accepting();
    const installId = must(await offer.install()).install_id as string;
    const seen: { status: string; timeline: unknown[] }[] = [];
    for await (const record of watch(installId, AbortSignal.timeout(18_000))) {
      seen.push(record);
      const last = (record.timeline.at(-1) as { event: string }).event;
      if (last === "accepted") must(await offer.report(installId, { status: "active" }));
      if (last === "active") await giveBack(installId);
    }
    const lengths = seen.map(({ timeline }) => timeline.length);
    expect(lengths).toEqual([...new Set(lengths)].sort((a, b) => a - b));
    expect(seen[0]?.status).toBe("provisioning");
    expect(seen.map(({ status }) => status)).toEqual(expect.arrayContaining(["provisioning", "active"]));
    expect(seen.at(-1)?.status).toBe("deprovisioned");
    expect((seen.at(-1)?.timeline as { event: string }[]).map(({ event }) => event)).toEqual([
      "requested",
      "accepted",
      "active",
      "deprovisioning",
      "deprovisioned",
    ]);
  });

  it("changes that are made between two reads are a record each", async () => {
    const offer = await market.offer(() => ({ status: 200 }));
    const installId = must(await offer.install()).install_id as string;
    await market.until(installId, "active");
    const seen: string[] = [];
    for await (const { status, timeline } of watch(installId, AbortSignal.timeout(18_000))) {
      const { event } = timeline.at(-1) as { event: string };
      if (event === "active")
        await runSql(
          app.databaseUrl,
          `with entries as (
             insert into install_timeline (install_id, at, event, detail)
             select $1, now() + nth * interval '1 ms', event, ''
             from unnest(array['suspended', 'resumed', 'deprovisioning', 'forced', 'deprovisioned'],
               array[1, 2, 3, 4, 4]) with ordinality as made (event, nth, place) order by place)
           update installs set status = 'deprovisioned' where install_id = $1`,
          [installId],
        );
      seen.push(`${event}: ${status}`);
    }
    expect(seen).toEqual([
      "active: active",
      "suspended: suspended",
      "resumed: active",
      "deprovisioning: deprovisioning",
      "deprovisioned: deprovisioned",
    ]);
  });

  it("watching a deprovisioned install yields one record", async () => {
    const offer = await market.offer(() => ({ status: 422 }));
    const installId = must(await offer.install()).install_id as string;
    await market.until(installId, "deprovisioned");
    const seen: string[] = [];
    for await (const { status } of watch(installId, AbortSignal.timeout(10_000))) seen.push(status);
    expect(seen).toEqual(["deprovisioned"]);
  });
});

it("twenty watchers of one install receive the same end", async () => {
  const offer = await market.offer(() => ({ status: 200 }));
  const installId = must(await offer.install()).install_id as string;
  const watchers = Array.from({ length: 20 }, async () => {
    let last: InstallBody | undefined;
    for await (const record of watchRest(installId, AbortSignal.timeout(15_000))) last = record;
    return last;
  });
  await market.until(installId, "active");
  await giveBack(installId);
  const ends = await Promise.all(watchers);
  expect(ends.every((end) => end?.status === "deprovisioned")).toBe(true);
  expect(new Set(ends.map((end) => JSON.stringify(end))).size).toBe(1);
});

it("sixty watchers of one install take one read per change", async () => {
  const offer = await accepting();
  const installId = must(await offer.install()).install_id as string;
  await expect.poll(async () => (await market.read(installId)).timeline.at(-1)?.event).toBe("accepted");
  let present = 0;
  let over = 0;
  const stop = new AbortController();
  const watching = Array.from({ length: 60 }, async () => {
    for await (const { status } of watchRest(installId, stop.signal)) {
      if (status === "provisioning") present++;
      else over++;
    }
  });
  await expect.poll(() => present).toBe(60);
  statements.take();
  must(await offer.report(installId, { status: "active" }));
  await expect.poll(() => over).toBe(60);
  const reads = statements.take().filter(({ text }) => /from installs/u.test(text) && /json_agg/u.test(text));
  expect(reads).toHaveLength(1);
  stop.abort();
  await Promise.allSettled(watching);
});

it("watching an install of another organization is refused before anything is streamed", async () => {
  const offer = await accepting();
  const installId = must(await offer.install()).install_id as string;
  const { token } = await signUp(app);
  for (const stranger of [token, market.publisher])
    expect(outcome(await app.call("GET", `/api/installs/${installId}/watch`, { token: stranger }))).toBe(
      "404 install_not_found",
    );
  expect(outcome(await app.call("GET", "/api/installs/nope/watch", { token }))).toBe("400 invalid_uuid");
  expect(outcome(await app.call("GET", `/api/installs/${installId}/watch`))).toBe("401 unauthorized");
});

it("a streamed record is consistent: its status is that of the last entry of its timeline", async () => {
  const offer = await accepting();
  const installId = must(await offer.install()).install_id as string;
  await expect.poll(async () => (await market.read(installId)).timeline.at(-1)?.event).toBe("accepted");
  const held = await holding(app.databaseUrl);
  await held.run("lock table install_timeline");
  const reading = market.read(installId);
  await held.waitedFor();
  // What a publisher's report writes, between what would be two reads.
  await held.run("update installs set status = 'active', step = null where install_id = $1", [installId]);
  await held.run("insert into install_timeline (install_id, at, event, detail) values ($1, now(), 'active', '')", [
    installId,
  ]);
  await held.commit();
  const { status, timeline } = await reading;
  expect([status, timeline.at(-1)?.event]).toEqual(["active", "active"]);
});
