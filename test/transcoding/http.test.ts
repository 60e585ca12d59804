import { connect } from "node:net";
import { brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start } from "./library.ts";
import type { Running } from "./library.ts";

let app: Running;
beforeAll(async () => {
  app = await start();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

/** Sends bytes unchanged and resolves to everything received until the connection closes. */
function raw(
  text: string | Buffer,
  more?: (write: (text: string | Buffer) => void) => void,
  port = app.port,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    socket.on("close", () => {
      resolve(answer);
    });
    socket.on("error", reject);
    socket.write(text);
    more?.((chunk) => socket.write(chunk));
  });
}

describe("Methods and statuses", () => {
  test("HEAD returns the status and headers of GET without the body", async () => {
    const get = await app.call("GET", "/v1/one/x");
    const head = await app.call("HEAD", "/v1/one/x");
    expect([head.status, head.text]).toEqual([200, ""]);
    for (const name of ["content-length", "content-type"]) expect(head.headers[name]).toBe(get.headers[name]);
    expect((await app.call("HEAD", "/v1/echo")).status).toBe(405);
    expect((await app.call("HEAD", "/v1/count?to=3")).headers["content-type"]).toBe("application/x-ndjson");
    expect((await app.call("HEAD", "/v1/act/error")).status).toBe(404);
  });

  test("OPTIONS and 405 list the allowed methods", async () => {
    const options = await app.call("OPTIONS", "/v1/inner/1");
    expect([options.status, options.headers.allow, options.text]).toEqual([204, "PUT, PATCH, OPTIONS", ""]);
    const wrong = await app.call("DELETE", "/v1/one/x");
    expect([wrong.status, wrong.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect(app.transcoder.allowed("/v1/act/x")).toEqual(["POST", "GET", "HEAD", "OPTIONS"]);
    expect(app.transcoder.allowed("/v1/nowhere")).toBeUndefined();
    expect((await app.call("get", "/v1/one/x")).status).toBe(200);
  });

  test("a rule sets the status of its responses", async () => {
    const removed = await app.call("DELETE", "/v1/shelf/x");
    expect([removed.status, removed.text, removed.headers["content-type"], removed.headers["content-length"]]).toEqual([
      204,
      "",
      undefined,
      undefined,
    ]);
    const moved = await app.call("GET", "/v1/redirect");
    expect([moved.status, moved.headers.location, moved.text]).toEqual([302, "https://example.test/there", ""]);
  });

  test("headers of the handler are sent, with errors of every kind too", async () => {
    expect((await app.call("GET", "/v1/act/go")).headers["x-how"]).toBe("go");
    const error = await app.call("GET", "/v1/act/error");
    expect([error.status, error.headers["x-why"], error.json()]).toEqual([
      404,
      "test",
      { code: "not_found", message: "no such shelf" },
    ]);
    const crash = await app.call("GET", "/v1/act/crash");
    expect([crash.status, crash.text]).toEqual([500, '{"code":"internal","message":"internal error"}']);
    expect((await app.call("GET", "/v1/absent")).status).toBe(501);
  });

  test("headers that a handler sets, replaces, appends and deletes are sent as Headers have them", async () => {
    const set = await app.call("GET", "/v1/act/headers");
    expect([set.headers["x-twice"], set.json()]).toEqual(["two", { how: "two false" }]);
    const more = await app.call("GET", "/v1/act/more%20headers");
    expect(more.json()).toEqual({ how: "set-cookie set-cookie x-list x-spaced" });
    expect([more.headers["x-gone"], more.headers["x-spaced"], more.headers["x-list"]]).toEqual([
      undefined,
      "two",
      "three, four",
    ]);
    expect(more.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    const broken = await app.call("GET", "/v1/act/no%20header");
    expect([broken.status, broken.headers["x-injected"]]).toEqual([500, undefined]);
  });
});

describe("Media types", () => {
  test.each<[string | undefined, number, string]>([
    [undefined, 200, "application/json"],
    ["*/*", 200, "application/json"],
    ["text/csv", 200, "text/csv"],
    ["text/*", 200, "text/csv"],
    ["application/json;q=0.5, text/csv;q=0.6", 200, "text/csv"],
    ["application/json;q=0.5, text/csv;q=0.5", 200, "application/json"],
    ["*/*;q=0.1, application/json;q=0", 200, "text/csv"],
    ["Application/X+JSON", 200, "application/x+json"],
    ["image/png", 406, "application/json"],
    ["*/*;q=0", 406, "application/json"],
    ["", 200, "application/json"],
  ])("the media type is negotiated by Accept %j", async (accept, status, type) => {
    const reply = await app.call("GET", "/v1/several", accept === undefined ? {} : { headers: { accept } });
    expect([reply.status, reply.headers["content-type"]]).toEqual([status, type]);
    if (status === 200) expect([reply.headers.vary, reply.text.includes(type)]).toEqual(["accept", true]);
  });

  test("a route with one representation never returns 406", async () => {
    const reply = await app.call("GET", "/v1/one/x", { headers: { accept: "image/png" } });
    expect([reply.status, reply.headers.vary]).toEqual([200, undefined]);
  });

  test.each<[string | undefined, number]>([
    ["application/json", 200],
    ["application/json; charset=utf-8", 200],
    ['Application/JSON;charset="UTF-8"', 200],
    ["application/json; charset=latin1", 415],
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["json", 415],
    [undefined, 415],
  ])("a body is accepted or refused by Content-Type %j", async (type, status) => {
    const reply = await app.call("POST", "/v1/echo", {
      body: Buffer.from("{}"),
      headers: type === undefined ? {} : { "content-type": type },
    });
    expect(reply.status).toBe(status);
    if (status === 415) expect(reply.headers["accept"]).toBe("application/json");
  });

  test("a content type without a body is ignored", async () => {
    expect((await app.call("GET", "/v1/one/x", { headers: { "content-type": "text/plain" } })).status).toBe(200);
    expect((await app.call("PUT", "/v1/inner/1", { headers: { "content-type": "text/plain" } })).status).toBe(200);
  });
});

describe("Size and codings", () => {
  const mib = 1024 * 1024;
  const padded = (size: number): string => `{"name":"${"x".repeat(size - 11)}"}`;

  test("a body of exactly the limit is accepted, and one byte more is refused", async () => {
    expect((await app.call("POST", "/v1/echo", { body: padded(mib) })).status).toBe(200);
    expect((await app.call("POST", "/v1/echo", { body: padded(mib + 1) })).status).toBe(413);
  });

  test("a Content-Length over the limit returns 413 before a byte is read, and the connection closes", async () => {
    const answer = await raw(
      "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1.1 413 [\s\S]*connection: close/i);
  });

  test("a body without a length returns 413 as soon as it exceeds the limit", async () => {
    const chunk = Buffer.alloc(65_536, "x");
    const framed = Buffer.concat([Buffer.from("10000\r\n"), chunk, Buffer.from("\r\n")]);
    const answer = await raw("POST /v1/echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n", (write) => {
      for (let i = 0; i < 20; i++) write(framed);
    });
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
  });

  test("a body that has arrived before its caller is known is held to the limit too", async () => {
    const gate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    await using small = await start({ limits: { bodyBytes: 40 }, gate });
    const statusOf = (body: string): Promise<string> =>
      raw(
        "POST /v1/echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n" +
          `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
        undefined,
        small.port,
      ).then((answer) => answer.slice(0, 12));
    expect(await statusOf(padded(40))).toBe("HTTP/1.1 200");
    expect(await statusOf(padded(41))).toBe("HTTP/1.1 413");
  });

  test("a connection stays open after a refusal when little of the body is unread", async () => {
    const refused = `PUT /v1/one/x HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n12345`;
    const answer = await raw(`${refused}GET /v1/one/y HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 405", "HTTP/1.1 200"]);
    expect(answer).not.toContain("content-length: 5\r\n\r\n12345");
  });

  test("a body is discarded where none is mapped", async () => {
    const reply = await app.call("POST", "/v1/act/go", { body: "not even JSON" });
    expect(reply.status).toBe(200);
  });

  test("a gzip request body is decoded", async () => {
    const gzip = { "content-encoding": "gzip", "content-type": "application/json" };
    const reply = await app.call("POST", "/v1/echo", { body: gzipSync('{"name":"z"}'), headers: gzip });
    expect(reply.json()).toMatchObject({ name: "z" });
    expect((await app.call("POST", "/v1/echo", { body: gzipSync(padded(mib)), headers: gzip })).status).toBe(200);
    expect((await app.call("POST", "/v1/echo", { body: gzipSync(padded(mib + 1)), headers: gzip })).status).toBe(413);
    expect(
      (await app.call("POST", "/v1/echo", { body: gzipSync(Buffer.alloc(200 * mib)), headers: gzip })).status,
    ).toBe(413);
    expect(
      (await app.call("POST", "/v1/echo", { body: gzipSync('{"name":"z"}').subarray(0, 15), headers: gzip })).status,
    ).toBe(400);
    expect((await app.call("POST", "/v1/echo", { body: Buffer.from("{}"), headers: gzip })).status).toBe(400);
    const brotli = await app.call("POST", "/v1/echo", { body: "{}", headers: { "content-encoding": "br" } });
    expect([brotli.status, brotli.headers["accept-encoding"]]).toEqual([415, "gzip"]);
    expect(
      (await app.call("POST", "/v1/echo", { body: "{}", headers: { "content-encoding": "identity" } })).status,
    ).toBe(200);
  });

  test("a response is compressed with gzip or brotli only when requested and worthwhile", async () => {
    const plain = await app.call("GET", "/v1/act/long");
    const gzip = await app.call("GET", "/v1/act/long", { headers: { "accept-encoding": "gzip" } });
    expect([gzip.headers["content-encoding"], gzip.headers.vary]).toEqual(["gzip", "accept-encoding"]);
    expect(gunzipSync(gzip.body).toString()).toBe(plain.text);
    const br = await app.call("GET", "/v1/act/long", { headers: { "accept-encoding": "gzip, br" } });
    expect(brotliDecompressSync(br.body).toString()).toBe(plain.text);
    const none = await app.call("GET", "/v1/act/long", { headers: { "accept-encoding": "gzip;q=0, identity" } });
    expect([none.headers["content-encoding"], none.text]).toEqual([undefined, plain.text]);
    const short = await app.call("GET", "/v1/act/go", { headers: { "accept-encoding": "gzip" } });
    expect(short.headers["content-encoding"]).toBeUndefined();
    const head = await app.call("HEAD", "/v1/act/long", { headers: { "accept-encoding": "gzip" } });
    expect(head.headers["content-length"]).toBe(gzip.headers["content-length"]);
  });
});
