import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import type { Settings } from "node:http2";
import { connect } from "node:net";
import { queryObjects } from "node:v8";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { createFeed } from "../../src/cli/workload-agent/feed.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { agentFolder, clientOn, headers, startAgent } from "./agent-here.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "on" } });
});
afterAll(() => app.close());

async function readyAgent() {
  const files = await agentFolder(app);
  const agent = startAgent(app, files);
  await agent.isReady();
  return { ...agent, socket: files.socket };
}

it("the agent stops while a client is connected that neither reads nor ends its connection", async () => {
  const { socket, done, stop } = await readyAgent();
  const silent = connect(socket).on("error", () => undefined);
  onTestFinished(() => void silent.destroy());
  await once(silent, "connect");
  silent.pause();
  silent.write("PRI");
  // The agent accepts in order: a later client has a response.
  await expect(clientOn(socket).fetchJWTSVID({ audience: [] }, { headers })).rejects.toThrow("audience");
  let code: number | undefined;
  void done.then((ended) => (code = ended));
  stop();
  await vi.waitFor(() => expect(code).toBe(0), 120_000);
});

it("a client has at most 100 streams on a connection to the agent", async () => {
  const { socket } = await readyAgent();
  const session = connectHttp2("http://localhost", { createConnection: () => connect(socket) });
  onTestFinished(() => session.destroy());
  const [settings] = (await once(session, "remoteSettings")) as [Settings];
  expect(settings.maxConcurrentStreams).toBe(100);
});

it("the agent serves 100 clients with streams at the same time", async () => {
  const { socket } = await readyAgent();
  const stop = new AbortController();
  const received = new Set<number>();
  const clients = Array.from({ length: 100 }, async (_, nth) => {
    const stream = clientOn(socket).fetchX509SVID({}, { headers, signal: stop.signal });
    for await (const { svids } of stream) if (svids.length === 1) received.add(nth);
  });
  const ended = Promise.allSettled(clients);
  await vi.waitFor(() => expect(received.size).toBe(100), 120_000);
  stop.abort();
  await ended;
});

it("the agent refuses a message of more than 256 KiB with RESOURCE_EXHAUSTED, and reads a smaller one", async () => {
  const { socket } = await readyAgent();
  const validate = (sizeBytes: number) =>
    clientOn(socket).validateJWTSVID({ audience: "a", svid: "x".repeat(sizeBytes) }, { headers });
  await expect(validate(257 * 1_024)).rejects.toMatchObject({ code: Code.ResourceExhausted });
  await expect(validate(200 * 1_024)).rejects.toMatchObject({ code: Code.InvalidArgument });
});

it("a stream that its client abandons leaves nothing in the feed of the agent", async () => {
  const feed = createFeed("value");
  const abandon = async (): Promise<void> => {
    const stop = new AbortController();
    const values = feed.watch(stop.signal)[Symbol.asyncIterator]();
    expect((await values.next()).value).toBe("value");
    const next = values.next();
    await Promise.resolve();
    stop.abort();
    expect((await next).done).toBe(true);
  };
  const promises = (): number => queryObjects(Promise, { format: "count" });
  await abandon();
  const before = promises();
  for (let n = 0; n < 2_000; n++) await abandon();
  expect(promises() - before).toBeLessThan(1_000);
  expect(feed.current()).toBe("value");
});
