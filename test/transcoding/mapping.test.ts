import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { echoed, start } from "./library.ts";
import type { Reply, Running } from "./library.ts";

let app: Running;
beforeAll(async () => {
  app = await start();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const json = async (method: string, path: string, body?: unknown): Promise<Reply> =>
  app.call(method, path, body === undefined ? {} : { body: JSON.stringify(body) });

describe("Path", () => {
  test.each([
    ["/v1/one/plain", "plain"],
    ["/v1/one/a%20b", "a b"],
    ["/v1/one/a%2Fb", "a/b"],
    ["/v1/one/%C3%A4", "ä"],
    ["/v1/one/a+b", "a+b"],
    ["/v1/one/a:b", "a:b"],
    ["/v1/shelves/7", "shelves/7"],
    ["/v1/shelves/a%2Fb%20c", "shelves/a%2Fb c"],
    ["/v1/shelves/a%252Fb", "shelves/a%2Fb"],
    ["/v1/tree/a/b/c", "a/b/c"],
    ["/v1/tree/a%2fb/c", "a%2fb/c"],
    ["/v1/tree", ""],
    ["/v1/one/fixed", ""],
    ["/v1/o%6Ee/x", "x"],
  ])("GET %s sets name to %j", async (path, name) => {
    expect((await json("GET", path)).json()).toEqual({ name, size: 0 });
  });

  test.each([
    "/v1/one/x/",
    "/v1//one/x",
    "/v1/One/x",
    "/v1/one/",
    "//v1/one/x",
    "/v1/tree/",
    "/v1/tree/a//b",
    "/",
    "*",
    "/v1/shelves/7:close",
  ])("%s is an unknown route or another one", async (path) => {
    const reply = await json("GET", path);
    if (path === "/v1/shelves/7:close") expect(reply.json()).toEqual({ name: "shelves/7:close", size: 0 });
    else expect([reply.status, reply.text]).toEqual([404, "no route"]);
  });

  test.each(["%zz", "%", "a%2", "%ff", "%00"])("the broken percent-encoding %s returns 400", async (text) => {
    const reply = await json("GET", `/v1/one/${text}`);
    expect([reply.status, (reply.json() as { message: string }).message]).toEqual([
      400,
      expect.stringContaining("name"),
    ]);
  });

  test("a path with a verb reaches its method", async () => {
    expect((await json("POST", "/v1/shelves/7:open", {})).json()).toEqual({ name: "shelves/7", size: 0 });
    expect((await json("POST", "/v1/shelves/7", {})).status).toBe(405);
  });

  test("path parameters set nested fields of each type", async () => {
    expect((await json("GET", "/v1/query/n/5")).json()).toMatchObject({ name: "n", inner: { count: 5 } });
    const typed = await json("GET", "/v1/typed/9223372036854775807/COLOR_BLUE/true/2026-01-31T12:00:00.5Z");
    expect(typed.json()).toMatchObject({
      big: "9223372036854775807",
      color: "COLOR_BLUE",
      flag: true,
      created_at: "2026-01-31T12:00:00.500Z",
    });
  });

  test.each([
    ["/v1/query/n/x", "inner.count"],
    ["/v1/query/n/2147483648", "inner.count"],
    ["/v1/typed/1.5/1/true/2026-01-31T12:00:00Z", "big"],
    ["/v1/typed/1/PINK/true/2026-01-31T12:00:00Z", "color"],
    ["/v1/typed/1/1/yes/2026-01-31T12:00:00Z", "flag"],
    ["/v1/typed/1/1/true/2026-02-30T12:00:00Z", "created_at"],
  ])("%s is refused because of %s", async (path, field) => {
    const reply = await json("GET", path);
    expect([reply.status, (reply.json() as { message: string }).message.split(":")[0]]).toEqual([400, field]);
  });

  test("a custom binding accepts every method", async () => {
    for (const method of ["GET", "PUT", "PURGE"]) expect((await json(method, "/v1/any")).status).toBe(200);
  });
});

describe("Query", () => {
  test.each<[string, object]>([
    ["name=a+b%21", { name: "a b!" }],
    ["flag=true&small=-5&natural=4294967295", { flag: true, small: -5, natural: 4294967295 }],
    [
      "big=-9223372036854775808&huge=18446744073709551615",
      { big: "-9223372036854775808", huge: "18446744073709551615" },
    ],
    ["real=1.5e3&real32=NaN", { real: 1500, real32: "NaN" }],
    ["data=-_8", { data: "+/8=" }],
    ["color=COLOR_RED", { color: "COLOR_RED" }],
    ["color=2&colors=1&colors=COLOR_BLUE", { color: "COLOR_BLUE", colors: ["COLOR_RED", "COLOR_BLUE"] }],
    ["words=a&words=&words=b&numbers=1&numbers=2", { words: ["a", "b"], numbers: [1, 2] }],
    ["inner.text_value=x&inner.tags=a&inner.tags=b", { inner: { text_value: "x", tags: ["a", "b"] } }],
    ["inner.textValue=x&inner.deeper.deeper.count=3", { inner: { text_value: "x", deeper: { deeper: { count: 3 } } } }],
    ["created_at=2026-01-31T13:00:00%2B01:00", { created_at: "2026-01-31T12:00:00Z" }],
    ["createdAt=2026-01-31T12:00:00.123456Z", { created_at: "2026-01-31T12:00:00.123Z" }],
    ["patience=1.5s&mask=a.b,cD", { patience: "1.500s", mask: "a.b,cD" }],
    [
      "wrapped_text=x&wrapped_big=7&wrapped_flag=false&wrapped_texts=a",
      { wrapped_text: "x", wrapped_big: "7", wrapped_flag: false, wrapped_texts: ["a"] },
    ],
    ["choice_number=4", { choice_number: 4 }],
    ["choice_inner.count=4", { choice_inner: { count: 4 } }],
    ["maybe=", { maybe: null }],
    ["name=&name=x", { name: "x" }],
    [
      "nobody=knows&inner.nothing=1&name.x=1&counts.a=1&%zz=1&urn:example:thing=u",
      { name: "", counts: {}, "urn:example:thing": "u" },
    ],
    ["", { name: "" }],
    ["&&=&=x&name", { name: "" }],
  ])("the query ?%s sets its fields", async (query, expected) => {
    const reply = await json("GET", `/v1/query?${query}`);
    expect(reply.text && reply.json()).toMatchObject(expected);
  });

  test.each([
    ["name=a&name=b", "name"],
    ["created_at=2026-01-31T12:00:00Z&createdAt=2026-01-31T12:00:00Z", "created_at"],
    ["small=x", "small"],
    ["small=1.5", "small"],
    ["flag=1", "flag"],
    ["natural=-1", "natural"],
    ["numbers=1&numbers=b", "numbers"],
    ["color=PINK", "color"],
    ["data=%21", "data"],
    ["name=%zz", "name"],
    ["name=a%00b", "name"],
    ["inner.count=x", "inner.count"],
    ["created_at=yesterday", "created_at"],
    ["choice_number=1&choice_text=x", "choice_text"],
    ["choice_inner.count=1&choice_text=x", "choice_text"],
  ])("the query ?%s is refused because of %s", async (query, field) => {
    const reply = await json("GET", `/v1/query?${query}`);
    expect([reply.status, (reply.json() as { message: string }).message.split(":")[0]]).toEqual([400, field]);
  });

  test("fields of the path and of the body are not set from the query", async () => {
    expect((await json("GET", "/v1/query/n/5?name=other&inner.count=6")).json()).toMatchObject({
      name: "n",
      inner: { count: 5 },
    });
    await json("PUT", "/v1/inner/1?note=n&id=2&inner.text_value=q", { count: 3 });
    expect(app.seen.message).toMatchObject({ id: "1", note: "n", inner: { textValue: "", count: 3 } });
    await json("PATCH", "/v1/inner/1?note=n", { note: "body" });
    expect(app.seen.message).toMatchObject({ id: "1", note: "body" });
  });
});

describe("body and response_body", () => {
  test("body * leaves path fields to the path", async () => {
    await json("PATCH", "/v1/inner/1", { id: "2", note: "n", inner: { count: 1 } });
    expect(app.seen.message).toMatchObject({ id: "1", note: "n" });
  });

  test("one field can be the request body or the response", async () => {
    expect((await json("PUT", "/v1/inner/1", { textValue: "x" })).json()).toEqual({
      text_value: "x",
      count: 0,
      tags: [],
    });
    expect((await json("PUT", "/v1/words/1", ["a", "b"])).json()).toEqual(["a", "b"]);
    expect((await json("PUT", "/v1/words/1", {})).status).toBe(400);
  });

  test("an optional body may be absent, and a required one may not", async () => {
    expect((await json("PUT", "/v1/inner/1")).text).toBe("null");
    expect((await json("PATCH", "/v1/inner/1")).status).toBe(200);
    expect((await json("POST", "/v1/echo")).status).toBe(400);
  });

  test("raw bytes are read from the request and written to the response", async () => {
    const bytes = Uint8Array.from([0, 255, 1, 128]);
    const up = await app.call("PUT", "/v1/files/x", { body: bytes, headers: { "content-type": "image/x-thing" } });
    expect([up.headers["content-type"], [...up.body]]).toEqual(["image/x-thing", [...bytes]]);
    const raw = await app.call("POST", "/v1/raw", { body: bytes });
    expect([...raw.body]).toEqual([...bytes]);
    const none = await app.call("PUT", "/v1/files/x");
    expect([none.status, none.body.length]).toEqual([200, 0]);
  });

  test("the message is one of protobuf-es", async () => {
    await json("POST", "/v1/echo", { big: "5", inner: {} });
    expect(echoed(app.seen).$typeName).toBe("library.v1.Everything");
    expect(echoed(app.seen).big).toBe(5n);
    expect(echoed(app.seen).inner?.$typeName).toBe("library.v1.Inner");
  });
});
