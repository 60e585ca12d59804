import { create, createRegistry, fromJson, toJson } from "@bufbuild/protobuf";
import type { DescField } from "@bufbuild/protobuf";
import { TimestampSchema, anyPack, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { JsonError, checkJson, parseJson } from "../../src/transcoding/index.ts";
import { messageReader } from "../../src/transcoding/json/read.ts";
import { ReadState } from "../../src/transcoding/json/read-state.ts";
import { readJson } from "../../src/transcoding/json/parse.ts";
import { Writers } from "../../src/transcoding/json/write.ts";
import { EverythingSchema, InnerSchema, file_library_v1_library } from "./gen/library/v1/library_pb.ts";
import type { Everything } from "./gen/library/v1/library_pb.ts";
import { start } from "./library.ts";

const registry = createRegistry(file_library_v1_library, TimestampSchema);
const write = new Writers({ nullable: () => false, omitEmpty: () => false, registry }).message(EverythingSchema);
const terse = new Writers({ nullable: () => false, omitEmpty: () => true, registry }).message(EverythingSchema);

function read(text: string): { message: Everything; fields: string[] } {
  const state = new ReadState(registry, 20);
  const message = messageReader(EverythingSchema)(readJson(Buffer.from(text), 32, "infinite"), state) as Everything;
  return { message, fields: state.violations.map((v) => v.field) };
}

const deep = (levels: number): string => `${"[".repeat(levels)}1${"]".repeat(levels)}`;

describe("The parser", () => {
  test.each<[string, string | Uint8Array]>([
    ["nothing", ""],
    ["space", "  "],
    ["cut off", '{"a":'],
    ["cut off string", '{"a":"b'],
    ["cut off escape", '"\\'],
    ["trailing comma", '{"a":1,}'],
    ["trailing comma in array", "[1,]"],
    ["two values", "{} {}"],
    ["trailing garbage", "{}x"],
    ["single quotes", "{'a':1}"],
    ["bare name", "{a:1}"],
    ["comment", "{/**/}"],
    ["byte order mark", "\ufeff{}"],
    ["leading zero", "01"],
    ["plus", "+1"],
    ["dot", "1."],
    ["hex", "0x10"],
    ["NaN", "NaN"],
    ["Infinity", "-Infinity"],
    ["undefined", "undefined"],
    ["too big", "1e400"],
    ["raw line break", '"a\nb"'],
    ["raw NUL", '"a\0b"'],
    ["NUL", "\0{}"],
    ["escaped NUL", '{"a":"\\u0000"}'],
    ["escaped NUL in a name", '{"\\u0000":1}'],
    ["high surrogate", '"\\ud800"'],
    ["low surrogate", '"\\udc00 x"'],
    ["surrogates the wrong way", '"\\udc00\\ud800"'],
    ["bad escape", '"\\x41"'],
    ["short escape", '"\\u12"'],
    ["broken UTF-8", Uint8Array.from([0x22, 0xff, 0x22])],
    ["overlong UTF-8", Uint8Array.from([0x22, 0xc0, 0x80, 0x22])],
    ["surrogate in UTF-8", Uint8Array.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["member twice", '{"a":1,"a":1}'],
    ["member twice by escape", '{"a":1,"\\u0061":1}'],
    ["member twice among many", `{${Array.from({ length: 50 }, (_, i) => `"m${i}":1`).join(",")},"m3":1}`],
    ["__proto__ twice", '{"__proto__":1,"__proto__":2}'],
    ["too deep", deep(33)],
    ["very deep", "[".repeat(100_000)],
  ])("the parser refuses %s", (_, text) => {
    expect(() => {
      checkJson(typeof text === "string" ? Buffer.from(text) : text);
    }).toThrow(JsonError);
  });

  test.each([
    "{}",
    " [ ] ",
    "0",
    "-0.5e-3",
    '"\\ud83d\\ude00"',
    '"\u007f\u2028"',
    deep(32),
    '{"__proto__":1,"constructor":2}',
    "12345678901234567890",
  ])("the parser accepts %s", (text) => {
    expect(parseJson(Buffer.from(text))).toEqual(JSON.parse(text));
  });

  test.each([
    ['{"a":{"b":[1,{"c":1,"c":2}]}}', "a.b[1].c"],
    ['{"a":[{"b":tru}]}', "a[0].b"],
    ['{"a":{"b":"\\ud800"}}', "a.b"],
    ["[[[[", "[0][0][0][0]"],
    ['{"a":{"x":1,"\\u0000":1}}', "a"],
    ['{"a":{"\\u0000":1}}', "a"],
  ])("the parser reports the position in %s", (text, path) => {
    expect(() => parseJson(Buffer.from(text))).toThrow(expect.objectContaining({ path }) as Error);
  });

  test("__proto__ is a member like any other", () => {
    const value = parseJson(Buffer.from('{"__proto__":{"polluted":true}}'));
    expect(Object.getOwnPropertyNames(value)).toEqual(["__proto__"]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

/** Documents that protobuf-es parses to the same message and prints equally. */
const same: string[] = [
  "{}",
  '{"name":"x","flag":true,"small":-5,"natural":4294967295,"big":"-9223372036854775808","huge":"18446744073709551615"}',
  '{"big":12,"small":"12","natural":1.0,"huge":"13"}',
  '{"real":"NaN","real32":"-Infinity"}',
  '{"real":1e308,"real32":1.5}',
  '{"data":"+/8="}',
  '{"data":"-_8"}',
  '{"color":"COLOR_RED","colors":[1,"COLOR_BLUE"]}',
  '{"color":77}',
  '{"words":["a",""],"numbers":[1,"2"]}',
  '{"inner":{"textValue":"x","count":1,"tags":["t"],"deeper":{"deeper":{}}},"inners":[{},{"count":2}]}',
  '{"counts":{"a":1,"__proto__":2},"byNumber":{"1":{},"-2":{"count":1}},"byFlag":{"true":"y"}}',
  '{"choiceText":""}',
  '{"choiceNumber":0}',
  '{"choiceInner":{}}',
  '{"choiceText":null,"choiceNumber":3}',
  '{"maybe":"","maybeNumber":0}',
  '{"createdAt":"2026-01-31T12:00:00.120Z","patience":"-1.000000001s","mask":"a.bC,d"}',
  '{"createdAt":"0001-01-01T00:00:00Z"}',
  '{"createdAt":"9999-12-31T23:59:59.999Z","patience":"315576000000s"}',
  '{"extra":{"a":[1,"x",null,{"b":true}],"__proto__":1},"anything":{"x":[1]},"list":[1,null,"x"]}',
  '{"anything":null}',
  '{"anything":"text"}',
  '{"wrappedText":"","wrappedBig":"7","wrappedFlag":false,"wrappedTexts":["a",""]}',
  '{"empty":{},"nothing":null}',
  '{"urn:example:thing":"u"}',
  '{"any":{"@type":"type.googleapis.com/library.v1.Inner","count":4}}',
  '{"any":{"@type":"type.googleapis.com/google.protobuf.Timestamp","value":"2026-01-31T12:00:00Z"}}',
  '{"name":null,"flag":null,"big":null,"color":null,"words":null,"inner":null,"counts":null}',
  '{"createdAt":null,"wrappedText":null,"extra":null}',
];

describe("Messages", () => {
  test.each(same)("%s is read and printed as protobuf-es does", (text) => {
    const { message, fields } = read(text);
    expect(fields).toEqual([]);
    expect(message).toEqual(fromJson(EverythingSchema, JSON.parse(text) as never, { registry }));
    const printed = JSON.parse(write(message)) as unknown;
    expect(printed).toEqual(
      named(toJson(EverythingSchema, message, { registry, useProtoFieldName: true, alwaysEmitImplicit: true })),
    );
    expect(read(terse(message)).message).toEqual(message);
  });

  test.each<[string, string[]]>([
    ['{"name":1}', ["name"]],
    [
      `{"name":1e400,"flag":1e400,"small":1e400,"natural":-1e400,"big":1e400,` +
        `"huge":1${"0".repeat(400)},"real":1e400,"numbers":[1e400]}`,
      ["name", "flag", "small", "natural", "big", "huge", "real", "numbers[0]"],
    ],
    ['{"extra":{"a":[{"b":1e400}]},"anything":[1e400],"list":[-1e400]}', ["extra", "anything", "list"]],
    ['{"flag":"true"}', ["flag"]],
    ['{"small":1.5,"natural":-1,"big":"x","huge":-1}', ["small", "natural", "big", "huge"]],
    ['{"small":2147483648,"big":9223372036854775808,"real32":1e39}', ["small", "big", "real32"]],
    ['{"small":"","real":""}', ["small", "real"]],
    ['{"small":true,"real":true,"data":"%"}', ["small", "real", "data"]],
    ['{"data":"a"}', ["data"]],
    ['{"color":"PINK","colors":["COLOR_RED","x",1.5]}', ["color", "colors[1]", "colors[2]"]],
    ['{"words":"a"}', ["words"]],
    ['{"words":["a",1,null]}', ["words[1]", "words[2]"]],
    ['{"inner":[]}', ["inner"]],
    [
      '{"inner":{"deeper":{"text_value":false}},"inners":[{},{"count":"x"}]}',
      ["inner.deeper.text_value", "inners[1].count"],
    ],
    ['{"inners":[null]}', ["inners[0]"]],
    ['{"counts":{"a":"x"},"byNumber":{"x":{}},"byFlag":{"yes":""}}', ["counts.a", "by_number.x", "by_flag.yes"]],
    ['{"counts":[],"by_number":{"1":null}}', ["counts", "by_number.1"]],
    ['{"choiceText":"a","choiceNumber":1}', ["choice_number"]],
    ['{"createdAt":"2026-01-31","patience":"1","mask":"a,,b"}', ["created_at", "patience", "mask"]],
    ['{"createdAt":"2025-02-29T00:00:00Z"}', ["created_at"]],
    ['{"createdAt":"2026-01-31T24:00:00Z"}', ["created_at"]],
    ['{"createdAt":5}', ["created_at"]],
    ['{"extra":[],"list":{}}', ["extra", "list"]],
    ['{"wrappedBig":"x","wrappedTexts":[1]}', ["wrapped_big", "wrapped_texts[0]"]],
    ['{"nothing":1}', ["nothing"]],
    ['{"urn:example:thing":1}', ["urn:example:thing"]],
    ['{"any":{"@type":"x/unknown.Type"}}', ["any"]],
    ['{"any":{"count":1}}', ["any"]],
    ['{"any":{"@type":"x/library.v1.Inner","count":"x"}}', ["any.count"]],
    ['{"empty":1}', ["empty"]],
    ["[]", ["body"]],
    ["null", ["body"]],
  ])("%s has violations", (text, fields) => {
    expect(read(text).fields).toEqual(fields);
  });

  test("both spellings of a field are a duplicate, and unknown members are accepted", () => {
    expect(() => read('{"createdAt":null,"created_at":null}')).toThrow(/created_at.*twice/);
    expect(read('{"nobody":{"knows":[1]},"name":"x"}').message.name).toBe("x");
  });

  test("an Any that the registry lacks cannot be printed", () => {
    const message = create(EverythingSchema, { any: anyPack(InnerSchema, create(InnerSchema)) });
    expect(() =>
      new Writers({ nullable: () => false, omitEmpty: () => false, registry: undefined }).message(EverythingSchema)(
        message,
      ),
    ).toThrow(/registry/);
  });

  test("a field that is null beside another is printed as null only where the other is present", () => {
    const { maybe, createdAt } = EverythingSchema.field;
    const nullable = (field: DescField) => field === createdAt && maybe;
    const print = new Writers({ nullable, omitEmpty: () => true, registry }).message(EverythingSchema);
    expect(JSON.parse(print(create(EverythingSchema, { maybe: "x" })))).toMatchObject({ maybe: "x", created_at: null });
    expect(JSON.parse(print(create(EverythingSchema, {})))).not.toHaveProperty("created_at");
    const both = create(EverythingSchema, { maybe: "x", createdAt: timestampFromMs(0) });
    expect(JSON.parse(print(both))).toMatchObject({ created_at: "1970-01-01T00:00:00Z" });
  });

  test("an empty list that is left out beside another field is printed where that one is absent", () => {
    const { maybe } = EverythingSchema.field;
    const omitEmpty = (field: DescField) => (field.fieldKind === "list" ? maybe : true);
    const print = new Writers({ nullable: () => false, omitEmpty, registry }).message(EverythingSchema);
    const lists = EverythingSchema.fields.filter(({ fieldKind }) => fieldKind === "list").map(({ name }) => name);
    const printed = Object.keys(JSON.parse(print(create(EverythingSchema, {}))) as object);
    expect(printed).toEqual(lists);
    expect(JSON.parse(print(create(EverythingSchema, { maybe: "x" })))).toEqual({ maybe: "x" });
  });

  test("nullable, omitEmpty and wire names have their effect on the output", async () => {
    await using app = await start();
    const reply = await app.call("POST", "/v1/echo", { body: '{"urn:example:thing":"u"}' });
    expect(reply.json()).toMatchObject({ maybe: null, created_at: null, "urn:example:thing": "u" });
    expect(reply.json()).not.toHaveProperty("hidden");
    expect((await app.call("POST", "/v1/echo", { body: '{"hidden":"x"}' })).json()).toHaveProperty("hidden", "x");
  });
});

/** protobuf-es prints proto names only; ours keeps a `json_name` that was set. */
function named(value: unknown): unknown {
  const { urn, ...rest } = value as Record<string, unknown>;
  return { ...rest, "urn:example:thing": urn };
}
