import { createServer as createH2Server, connect as connectH2 } from "node:http2";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { createContextKey, createContextValues } from "@connectrpc/connect";
import type { HandlerContext, Interceptor } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { Outcome, RefusalKind } from "../../src/transcoding/index.ts";
import { start } from "./library.ts";

describe("Streams", () => {
  test("a stream has one JSON text a line, and an error as the last line", async () => {
    await using app = await start();
    const whole = await app.call("GET", "/v1/count?to=3");
    expect(whole.text).toBe('{"value":1,"padding":""}\n{"value":2,"padding":""}\n{"value":3,"padding":""}\n');
    expect([whole.headers["content-type"], whole.headers["x-first"]]).toEqual(["application/x-ndjson", "set"]);
    const broken = await app.call("GET", "/v1/count?to=3&fail_after=1");
    expect(broken.text).toBe('{"value":1,"padding":""}\n{"error":{"code":"resource_exhausted","message":"enough"}}\n');
    const empty = await app.call("GET", "/v1/count");
    expect([empty.status, empty.text]).toEqual([200, ""]);
  });

  test("a stream of raw bytes has the type of its first message, and an error truncates it", async () => {
    await using app = await start();
    const file = await app.call("GET", "/v1/download?to=2");
    expect([file.headers["content-type"], file.text]).toEqual(["text/csv", "1,\n2,\n"]);
    await expect(app.call("GET", "/v1/download?to=2&fail_after=1")).rejects.toThrow();
  });

  test("a client that reads slowly slows the handler down, and one that disconnects stops it", async () => {
    await using app = await start();
    await new Promise<void>((resolve) => {
      const request = httpRequest(
        { port: app.port, path: "/v1/count?to=4000000000&padding=10000", agent: false },
        (response) => {
          response.once("data", () => {
            response.pause();
            setTimeout(() => {
              request.destroy();
              resolve();
            }, 200);
          });
        },
      );
      request.on("error", () => undefined);
      request.end();
    });
    await expect.poll(() => app.seen.signals[0]?.aborted).toBe(true);
    expect(process.memoryUsage().external).toBeLessThan(500_000_000);
  });
});

describe("Ends of a call", () => {
  test.each(["wait", "hang"])("a deadline ends a handler that does %s", async (how) => {
    await using app = await start();
    const reply = await app.call("POST", `/v1/act/${how}`, { headers: { "connect-timeout-ms": "50" } });
    expect([reply.status, (reply.json() as { code: string }).code]).toEqual([504, "deadline_exceeded"]);
    expect(app.seen.signals[0]?.aborted).toBe(true);
  });

  test("a handler can read the time left, and a deadline ends a stream with its last line", async () => {
    await using app = await start();
    await app.call("POST", "/v1/act/go", { headers: { "connect-timeout-ms": "600000" } });
    expect(app.seen.context?.timeoutMs()).toBeGreaterThan(0);
    expect(app.seen.context?.timeoutMs()).toBeLessThanOrEqual(600_000);
    const stream = await app.call("GET", "/v1/count?to=4000000000", { headers: { "connect-timeout-ms": "500" } });
    expect(stream.text.trimEnd().split("\n").at(-1)).toContain('{"error":{"code":"deadline_exceeded"');
  });

  test.each(["x", "-1", "1.5", "12345678901", ""])("a deadline of %j returns 400", async (value) => {
    await using app = await start();
    expect((await app.call("POST", "/v1/act/go", { headers: { "connect-timeout-ms": value } })).status).toBe(400);
  });

  test("a client that disconnects and a server that stops abort the signal", async () => {
    const outcomes: Outcome[] = [];
    const stop = new AbortController();
    await using app = await start({ shutdownSignal: stop.signal, finished: (outcome) => outcomes.push(outcome) });
    const request = httpRequest({ port: app.port, path: "/v1/act/wait", agent: false });
    request.on("error", () => undefined);
    request.end();
    await expect.poll(() => app.seen.signals.length).toBe(1);
    request.destroy();
    await expect.poll(() => app.seen.signals[0]?.aborted).toBe(true);
    expect(outcomes.map((o) => [o.route?.method.name, (o.error as { kind?: RefusalKind }).kind])).toEqual([
      ["Act", "canceled"],
    ]);
    const pending = app.call("GET", "/v1/act/wait");
    await expect.poll(() => app.seen.signals.length).toBe(2);
    stop.abort(new Error("stopping"));
    expect((await pending).status).toBe(500);
  });

  test("a client that disconnects in the middle of its body is not an error of the program", async () => {
    const outcomes: Outcome[] = [];
    let begun = 0;
    await using app = await start({ gate: () => void begun++, finished: (outcome) => outcomes.push(outcome) });
    const request = httpRequest({
      port: app.port,
      method: "POST",
      path: "/v1/echo",
      agent: false,
      headers: { "content-type": "application/json", "content-length": "100" },
    });
    request.on("error", () => undefined);
    request.write('{"name":');
    await expect.poll(() => begun).toBe(1);
    request.destroy();
    await expect.poll(() => outcomes.length).toBe(1);
    expect(outcomes[0]?.error).toMatchObject({ kind: "canceled" });
  });
});

describe("Gate, interceptors, hooks", () => {
  const who = createContextKey("nobody");

  test("the gate runs before the body is validated and knows the path", async () => {
    const seen: unknown[] = [];
    await using app = await start({
      contextValues: (request) => createContextValues().set(who, String(request.headers["x-who"] ?? "nobody")),
      gate: (context, params, route) => {
        seen.push(params, route.template);
        if (context.values.get(who) === "nobody") throw Object.assign(new Error("no"), { row: 401 });
      },
      printError: (error) => ({
        status: (error as { row?: number }).row ?? 418,
        headers: { "content-type": "text/plain", "www-authenticate": "x" },
        body: (error as Error).message,
      }),
      refuse: (refusal) => Object.assign(new Error(refusal.kind), { row: refusal.status + 1 }),
    });
    const reply = await app.call("PATCH", "/v1/inner/a%2Fb", {
      body: "{not json",
      headers: { "content-type": "image/png" },
    });
    expect([reply.status, reply.text, reply.headers["www-authenticate"]]).toEqual([401, "no", "x"]);
    expect(seen).toEqual([{ id: "a/b" }, "/v1/inner/{id}"]);
    expect((await app.call("GET", "/v1/one/%zz")).status).toBe(401);
    expect(seen.slice(2)).toEqual([{ name: "%zz" }, "/v1/one/{name}"]);
    const known = await app.call("PATCH", "/v1/inner/1", { body: "{not json", headers: { "x-who": "me" } });
    expect([known.status, known.text]).toEqual([401, "malformed_body"]);
    const wrong = await app.call("PATCH", "/v1/inner/1", { body: '{"id":1}', headers: { "x-who": "me" } });
    expect(wrong.text).toBe("invalid_body");
    expect((await app.call("PUT", "/v1/one/x")).text).toBe("method_not_allowed");
  });

  test("interceptors run in order, see the call and may change it", async () => {
    const steps: string[] = [];
    const outer: Interceptor = (next) => async (request) => {
      steps.push(
        `outer ${request.method.name} ${request.requestMethod} ${request.header.get("x-a") ?? ""} ${request.stream}`,
      );
      expect(request.signal.aborted).toBe(false);
      const response = await next({ ...request });
      response.header.set("x-outer", "1");
      return response;
    };
    const inner: Interceptor = (next) => async (request) => {
      steps.push(`inner ${request.signal.aborted} ${new URL(request.url).pathname}`);
      request.contextValues.set(who, "me");
      return next(request);
    };
    await using app = await start({ interceptors: [outer, inner] });
    const reply = await app.call("GET", "/v1/one/x", { headers: { "x-a": "a" } });
    expect([reply.json(), reply.headers["x-outer"]]).toEqual([{ name: "x", size: 0 }, "1"]);
    expect(steps).toEqual(["outer GetShelf GET a false", "inner false /v1/one/x"]);
    expect(app.seen.context?.values.get(who)).toBe("me");
    const stream = await app.call("GET", "/v1/count?to=1");
    expect([stream.text, stream.headers["x-outer"], stream.headers["x-first"]]).toEqual([
      '{"value":1,"padding":""}\n',
      "1",
      "set",
    ]);
  });

  test("the context of a handler is a Connect context", async () => {
    await using app = await start();
    await app.call("GET", "/v1/one/x?limit=1", { headers: { "x-one": "1" } });
    const context = app.seen.context as HandlerContext;
    expect(context.requestHeader.get("X-One")).toBe("1");
    expect([...new Headers(context.requestHeader)].map(([name]) => name)).toContain("x-one");
    expect([...context.requestHeader.keys()]).toContain("host");
    expect([context.protocolName, context.requestMethod, context.service.typeName]).toEqual([
      "rest",
      "GET",
      "library.v1.LibraryService",
    ]);
    expect(context.url).toBe(`http://127.0.0.1:${app.port}/v1/one/x?limit=1`);
    expect(context.signal.aborted).toBe(true);
    expect(context.timeoutMs()).toBeUndefined();
  });

  test("an error that cannot be printed or sent does not leave the client waiting", async () => {
    await using app = await start({
      printError: (error) => {
        if (error instanceof Error && error.message.includes("private")) throw new Error("broken printer");
        return { status: 400, headers: { "x-bad": "a\nb" }, body: "" };
      },
    });
    expect((await app.call("GET", "/v1/act/crash")).status).toBe(500);
    await expect(app.call("GET", "/v1/act/error")).rejects.toThrow();
  });
});

test("unary calls, streams and errors work over HTTP/2", async () => {
  await using app = await start();
  const server = createH2Server((request, response) => {
    if (!app.transcoder.handle(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = connectH2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const call = (
    headers: Record<string, string>,
    body?: string | Buffer,
  ): Promise<[number, string, Record<string, unknown>]> =>
    new Promise((resolve, reject) => {
      const stream = client.request(headers, { endStream: body === undefined });
      let text = "";
      let got: Record<string, unknown> = {};
      stream.on("response", (answer) => (got = answer));
      stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
      stream.on("close", () => {
        resolve([Number(got[":status"]), text, got]);
      });
      stream.on("error", (error: NodeJS.ErrnoException) => {
        if (got[":status"] === undefined) reject(error);
      });
      if (body !== undefined) stream.end(body);
    });
  try {
    expect((await call({ ":path": "/v1/one/x" })).slice(0, 2)).toEqual([200, '{"name":"x","size":0}']);
    expect(app.seen.context?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\/one\/x$/);
    expect(
      (await call({ ":path": "/v1/words/1", ":method": "PUT", "content-type": "application/json" }, '["a"]'))[1],
    ).toBe('["a"]');
    expect((await call({ ":path": "/v1/one/x", ":method": "HEAD" })).slice(0, 2)).toEqual([200, ""]);
    expect((await call({ ":path": "/v1/shelf/x", ":method": "DELETE" })).slice(0, 2)).toEqual([204, ""]);
    expect((await call({ ":path": "/v1/count?to=2" }))[1].split("\n").length).toBe(3);
    expect((await call({ ":path": "/v1/one/x", ":method": "PUT" }, "x"))[0]).toBe(405);
    expect((await call({ ":path": "/v1/echo", ":method": "POST" }, Buffer.alloc(8_000_000)))[0]).toBe(413);
    expect((await call({ ":path": "/v1/one/after" }))[0]).toBe(200);
    expect((await call({ ":path": "/v1/nowhere" }))[0]).toBe(404);
  } finally {
    client.close();
    server.close();
  }
});
