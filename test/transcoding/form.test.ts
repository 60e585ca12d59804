import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTranscoder } from "../../src/transcoding/index.ts";
import { LibraryService } from "./gen/library/v1/library_pb.ts";
import { echoed, library, start } from "./library.ts";
import type { Reply, Running } from "./library.ts";

const FORM = "application/x-www-form-urlencoded";

let app: Running;
beforeAll(async () => {
  app = await start({
    rest: ({ name }) =>
      name === "Echo" ? { consumes: ["application/json", FORM] } : name === "GetShelf" ? { consumes: [FORM] } : {},
  });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const post = (path: string, body: string | Buffer, type = FORM, more: Record<string, string> = {}): Promise<Reply> =>
  app.call("POST", path, { body, headers: { "content-type": type, ...more } });
const messageOf = (reply: Reply): string => (reply.json() as { message: string }).message;

describe("Forms", () => {
  test("a form sets the fields that it names, nested and repeated ones too", async () => {
    const reply = await post(
      "/v1/echo",
      "name=a+b%21&flag=true&big=9223372036854775807&words=x&words=y&inner.text_value=%C3%A4&unknown=1&maybe=",
    );
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json()).toMatchObject({
      name: "a b!",
      flag: true,
      big: "9223372036854775807",
      words: ["x", "y"],
      inner: { text_value: "ä" },
      maybe: null,
    });
    expect(echoed(app.seen).name).toBe("a b!");
  });

  test("a route that takes both tells them apart by Content-Type", async () => {
    expect((await post("/v1/echo", '{"name":"json"}', "application/json")).json()).toMatchObject({ name: "json" });
    expect((await post("/v1/echo", "name=form", `${FORM}; charset=UTF-8`)).json()).toMatchObject({ name: "form" });
    expect((await post("/v1/echo", "name=form", FORM.toUpperCase())).json()).toMatchObject({ name: "form" });
    expect(messageOf(await post("/v1/echo", ""))).toContain("JSON or form");
  });

  test("a route takes a form only where its rule names it", async () => {
    const refused = await app.call("PATCH", "/v1/inner/5", { body: "id=6", headers: { "content-type": FORM } });
    expect([refused.status, refused.headers.accept]).toEqual([415, "application/json"]);
    const only = await post("/v1/shelves/7:open", "{}", "application/json");
    expect([only.status, only.headers.accept]).toEqual([415, FORM]);
    expect((await post("/v1/shelves/7:open", "limit=3")).json()).toEqual({ name: "shelves/7", size: 3 });
  });

  test("the path wins over a form", async () => {
    expect((await post("/v1/shelves/7:open", "name=shelves%2F8&limit=3")).json()).toEqual({
      name: "shelves/7",
      size: 3,
    });
  });

  test.each<[string, string | Buffer]>([
    ["a singular field twice", "name=a&name=b"],
    ["a singular field under both names", "created_at=2026-01-31T12:00:00Z&createdAt=2026-01-31T12:00:00Z"],
    ["broken percent-encoding", "name=%zz"],
    ["percent-encoded bytes that are not UTF-8", "name=%ff"],
    ["bytes that are not UTF-8", Buffer.from([0x6e, 0x61, 0x6d, 0x65, 0x3d, 0xff])],
    ["a NUL", "name=a%00b"],
    ["a wrong type", "small=x"],
    ["two of a oneof", "choice_text=a&choice_number=1"],
    ["no body", ""],
  ])("a form with %s is 400", async (_name, body) => {
    expect((await post("/v1/echo", body)).status).toBe(400);
  });

  test("a form has the limits of JSON, before and after inflation, and reports 20 violations at most", async () => {
    const large = `name=${"x".repeat(1024 * 1024)}`;
    expect((await post("/v1/echo", large)).status).toBe(413);
    expect((await post("/v1/echo", gzipSync(large), FORM, { "content-encoding": "gzip" })).status).toBe(413);
    expect((await post("/v1/echo", gzipSync("name=z"), FORM, { "content-encoding": "gzip" })).status).toBe(200);
    expect((await post("/v1/echo", "name=z", FORM, { "content-encoding": "br" })).status).toBe(415);
    expect((await post("/v1/echo", "name=z", `${FORM}; charset=latin1`)).status).toBe(415);
    const many = await post("/v1/echo", Array(500).fill("numbers=x").join("&"));
    expect(messageOf(many).split("; ")).toHaveLength(20);
    const deep = await post("/v1/echo", `${"inner.".concat("deeper.".repeat(40))}count=1`);
    expect(deep.status).toBe(200);
  });

  test("start-up refuses a form for one field of a request", () => {
    const seen = { message: undefined, context: undefined, signals: [] };
    const services = [{ service: LibraryService, implementation: library(seen) }];
    const rest = ({ name }: { name: string }) => (name === "PutInner" ? { consumes: [FORM] } : undefined);
    expect(() => createTranscoder({ services, rest })).toThrow(/x-www-form-urlencoded/u);
  });
});
