import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { createGuardedClient, OutgoingError } from "../../src/platform/outgoing/client.ts";
import type { OutgoingRequest, OutgoingResponse } from "../../src/platform/outgoing/client.ts";
import { answering, ok, rawPeer } from "./peers.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function call(
  behaviour: Parameters<typeof rawPeer>[0],
  over: Partial<OutgoingRequest> = {},
): Promise<OutgoingResponse> {
  const peer = await rawPeer(behaviour);
  const client = createGuardedClient({ allowLoopback: true });
  cleanups.push(
    () => peer.close(),
    () => client.close(0),
  );
  return client.request({
    method: "POST",
    url: `http://127.0.0.1:${peer.port}/`,
    body: "{}",
    timeoutMs: 3_000,
    ...over,
  });
}
const reason = async (promise: Promise<unknown>): Promise<string> => {
  const error = await promise.then(
    () => new Error("it succeeded"),
    (cause: unknown) => cause,
  );
  return error instanceof OutgoingError ? error.reason : String(error);
};
const coded = (coding: string, body: Buffer) => ok(body, `content-encoding: ${coding}`);

describe("Size", () => {
  test("a long body is cut at the limit, with and without a length", async () => {
    const long = "x".repeat(200_000);
    for (const behaviour of [
      ok(long),
      answering("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked", `${long.length.toString(16)}\r\n${long}\r\n0\r\n\r\n`),
    ]) {
      const answer = await call(behaviour);
      expect(answer).toMatchObject({ status: 200, truncated: true });
      expect(answer.body).toHaveLength(65_536);
    }
    expect(await call(ok("x".repeat(100)), { maxBytes: 100 })).toMatchObject({ truncated: false });
    expect(await call(ok("x".repeat(101)), { maxBytes: 100 })).toMatchObject({ truncated: true });
  });

  test("an endless body is cut at once", async () => {
    const endless = await call((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const pour = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(16_384, 120))) continue;
      };
      socket.on("drain", pour);
      pour();
    });
    expect(endless).toMatchObject({ status: 200, truncated: true });
  });

  test("headers beyond 16 KiB are refused, in one header and in many", async () => {
    expect(await reason(call(ok("", `x-long: ${"x".repeat(20_000)}`)))).toBe("too_large");
    expect(await reason(call(ok("", Array.from({ length: 4_000 }, (_, at) => `x-${at}: y`).join("\r\n"))))).toBe(
      "too_large",
    );
  });

  test("endless headers are refused", async () => {
    const flood = call((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const timer = setInterval(
        () => socket.write("x-more: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(50)),
        1,
      );
      socket.on("close", () => clearInterval(timer));
    });
    expect(await reason(flood)).toBe("too_large");
  });
});

describe("Content codings", () => {
  test("one content coding is decoded although none was requested", async () => {
    const text = "hello ".repeat(100);
    for (const [coding, body] of [
      ["gzip", gzipSync(text)],
      ["x-gzip", gzipSync(text)],
      ["deflate", deflateSync(text)],
      ["br", brotliCompressSync(text)],
      ["identity", Buffer.from(text)],
    ] as const) {
      const answer = await call(coded(coding, body));
      expect(answer.body.toString(), coding).toBe(text);
      expect(answer.truncated).toBe(false);
    }
  });

  test("the size limit of a compressed body applies to the decoded bytes", async () => {
    const zeros = Buffer.alloc(50_000_000);
    for (const [coding, body] of [
      ["gzip", gzipSync(zeros)],
      ["br", brotliCompressSync(zeros)],
      ["deflate", deflateSync(zeros)],
    ] as const) {
      const before = process.memoryUsage().arrayBuffers;
      const answer = await call(coded(coding, body));
      expect(answer, coding).toMatchObject({ status: 200, truncated: true });
      expect(answer.body).toHaveLength(65_536);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
    }
  });

  test("a body with stacked, unknown or broken codings is empty and unreadable, and its status stays", async () => {
    for (const [coding, body] of [
      ["gzip, gzip", gzipSync(gzipSync(Buffer.alloc(1_000_000)))],
      ["zstd", Buffer.from("x")],
      ["gzip", Buffer.from("not gzip")],
      ["gzip", gzipSync("hello").subarray(0, 12)],
    ] as const) {
      const answer = await call(coded(coding, body));
      expect(answer, coding).toMatchObject({ status: 200, truncated: false, unreadable: { reason: "bad_response" } });
      expect(answer.body).toHaveLength(0);
    }
  });
});

describe("Time", () => {
  test.each<[string, Parameters<typeof rawPeer>[0]]>([
    ["silence", () => undefined],
    ["a dripping status line", drip("HTTP/1.1 200 OK\r\nx: y\r\n")],
    ["dripping headers", drip(`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(1_000)}`)],
    ["a dripping body", drip("x".repeat(10_000), "HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n")],
    ["dripping chunks", drip("1\r\nx\r\n".repeat(1_000), "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")],
    ["slow interim answers", drip("HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000))],
    ["a body that stops", (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")],
  ])("%s is bounded by the total timeout", async (_, behaviour) => {
    expect(await reason(call(behaviour, { timeoutMs: 300 }))).toBe("timeout");
  });

  test("a peer that does not read the request is bounded by the total timeout", async () => {
    expect(
      await reason(call((socket) => void socket.pause(), { body: Buffer.alloc(20_000_000), timeoutMs: 300 })),
    ).toBe("timeout");
  });
});

describe("Interim responses", () => {
  test("a few interim responses are accepted", async () => {
    const few = "HTTP/1.1 102 Processing\r\n\r\n".repeat(3);
    expect(
      await call((socket) =>
        socket.once("data", () =>
          socket.write(
            `${few}HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`,
          ),
        ),
      ),
    ).toMatchObject({ status: 200 });
  });

  test("a flood of interim responses is refused, and so are their headers in total", async () => {
    const flood = call((socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n".repeat(100)), 1);
      socket.on("close", () => clearInterval(timer));
    });
    expect(await reason(flood)).toBe("too_large");
    const heavy = `HTTP/1.1 103 Early Hints\r\nx: ${"y".repeat(6_000)}\r\n\r\n`.repeat(4);
    expect(
      await reason(
        call((socket) =>
          socket.once("data", () => socket.write(`${heavy}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`)),
        ),
      ),
    ).toBe("too_large");
  });
});

describe("Malformed responses", () => {
  test.each<[string, string]>([
    ["100 Continue", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"],
    ["an upgrade", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"],
  ])("%s that was not asked for is named in the error", async (_, bytes) => {
    await expect(call((socket) => socket.once("data", () => socket.write(bytes)))).rejects.toThrow(
      "the answer was 100 Continue or an upgrade, which was not asked for",
    );
  });

  test.each<[string, string]>([
    ["no HTTP", "hello\r\n\r\n"],
    ["SSH", "SSH-2.0-OpenSSH_9.0\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx"],
    ["a negative length", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"],
    ["length and chunks", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a broken chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
    ["a NUL in a header", "HTTP/1.1 200 OK\r\nx: a\u0000b\r\n\r\n"],
    ["an upgrade nobody wanted", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"],
  ])("%s is a bad response", async (_, bytes) => {
    expect(["bad_response", "reset"]).toContain(
      await reason(call((socket) => socket.once("data", () => socket.write(bytes)))),
    );
  });

  test("connections that end early are reported as such", async () => {
    expect(await reason(call((socket) => socket.once("data", () => socket.destroy())))).toBe("reset");
    expect(await reason(call((socket) => socket.once("data", () => socket.resetAndDestroy())))).toBe("reset");
    expect(
      await reason(
        call((socket) => socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"))),
      ),
    ).toBe("reset");
  });
});

/** Writes `head` at once and the rest one byte every few milliseconds. */
function drip(text: string, head = ""): Parameters<typeof rawPeer>[0] {
  return (socket) => {
    socket.write(head);
    let at = 0;
    const timer = setInterval(() => socket.write(text.charAt(at++) || "x"), 5);
    socket.on("close", () => clearInterval(timer));
  };
}
