import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { as, start } from "./support.ts";
import type { Running } from "./support.ts";

let server: Running;
beforeAll(async () => void (server = await start()));
afterAll(() => server.close());

/** An open stream, or the code it was refused with and its `Retry-After`. */
interface Opened {
  refused: string | undefined;
  close: () => void;
}

type Open = (token: string) => Promise<Opened>;

async function overRest(token: string): Promise<Opened> {
  const control = new AbortController();
  const answer = await server.fetch("/api/watch", { token, signal: control.signal });
  if (answer.status === 200) return { refused: undefined, close: () => control.abort() };
  const { code } = (await answer.json()) as { code: string };
  return { refused: `${answer.status} ${code} ${answer.headers.get("retry-after") ?? ""}`, close: () => undefined };
}

/** Opens a stream with the client's generator and waits for the first message. */
async function first(open: (signal: AbortSignal) => AsyncIterable<unknown>): Promise<Opened> {
  const control = new AbortController();
  try {
    await open(control.signal)[Symbol.asyncIterator]().next();
    return { refused: undefined, close: () => control.abort() };
  } catch (error) {
    const { code, metadata } = ConnectError.from(error);
    return { refused: `${Code[code]} ${metadata.get("retry-after") ?? ""}`, close: () => undefined };
  }
}

const over = (protocol: "connect" | "grpc" | "grpc-web"): Open => {
  const client = server.client(protocol);
  return (token) => first((signal) => client["watch"]!({}, { ...as(token), signal }));
};

const MOST = 100;

async function fill(open: Open, token: string): Promise<Opened[]> {
  const opened = await Promise.all(Array.from({ length: MOST }, () => open(token)));
  expect(new Set(opened.map(({ refused }) => refused))).toEqual(new Set([undefined]));
  return opened;
}

describe.each<[string, () => Open, string]>([
  ["REST", () => overRest, "429 rate_limited 5"],
  ["Connect", () => over("connect"), "ResourceExhausted 5"],
  ["gRPC", () => over("grpc"), "ResourceExhausted 5"],
  ["gRPC-Web", () => over("grpc-web"), "ResourceExhausted 5"],
])("Over %s", (_protocol, opener, refusal) => {
  test("a principal has at most 100 open streams, and a closed one frees a place", async () => {
    const open = opener();
    const mine = await fill(open, "admin");
    expect((await open("admin")).refused).toBe(refusal);
    const others = await open("reader");
    expect(others.refused).toBeUndefined();
    others.close();
    mine[7]?.close();
    await expect
      .poll(async () => {
        const again = await open("admin");
        if (again.refused === undefined) mine.push(again);
        return again.refused;
      })
      .toBeUndefined();
    expect((await open("admin")).refused).toBe(refusal);
    for (const stream of mine) stream.close();
    await expect
      .poll(async () => {
        const again = await open("admin");
        again.close();
        return again.refused;
      })
      .toBeUndefined();
  });
});

test("streams of health and reflection count for their address", async () => {
  const health = server.client("grpc", Health);
  const reflection = server.client("grpc", ServerReflection);
  const watch: Open = () => first((signal) => health["watch"]!({ service: "" }, { signal }));
  const watches = await fill(watch, "");
  expect((await watch("")).refused).toBe("ResourceExhausted 5");
  async function* questions() {
    yield { messageRequest: { case: "listServices", value: "" } };
  }
  const ask = () => first((signal) => reflection["serverReflectionInfo"]!(questions(), { signal }));
  expect((await ask()).refused).toBe("ResourceExhausted 5");
  // Unary calls and streams of authenticated callers count separately.
  expect(await health["check"]!({ service: "" })).toMatchObject({ status: Status.SERVING });
  const mine = await over("grpc")("admin");
  expect(mine.refused).toBeUndefined();
  for (const stream of [mine, ...watches]) stream.close();
  await expect.poll(async () => (await ask()).refused).toBeUndefined();
});
