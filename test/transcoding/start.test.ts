import { create, createFileRegistry, setExtension } from "@bufbuild/protobuf";
import type { DescService } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { createTranscoder } from "../../src/transcoding/index.ts";
import { http } from "./gen/google/api/annotations_pb.ts";
import type { HttpRule } from "./gen/google/api/http_pb.ts";
import { HttpRuleSchema } from "./gen/google/api/http_pb.ts";
import { LibraryService } from "./gen/library/v1/library_pb.ts";
import { library } from "./library.ts";

type Pattern = HttpRule["pattern"];

/** A service with one rpc for each pattern, built at run time. */
function service(patterns: Pattern[], streaming = false): DescService {
  const file = create(FileDescriptorProtoSchema, {
    name: "made.proto",
    syntax: "proto3",
    package: "made",
    messageType: [
      {
        name: "M",
        field: [
          { name: "a", number: 1, type: 9, label: 1, jsonName: "a" },
          { name: "many", number: 2, type: 9, label: 3, jsonName: "many" },
        ],
      },
    ],
    service: [
      {
        name: "S",
        method: patterns.map((pattern, i) => {
          const options = create(MethodOptionsSchema);
          setExtension(options, http, create(HttpRuleSchema, { pattern }));
          return { name: `Rpc${i}`, inputType: ".made.M", outputType: ".made.M", clientStreaming: streaming, options };
        }),
      },
    ],
  });
  return createFileRegistry(file, () => undefined).getService("made.S") as DescService;
}

const get = (value: string): Pattern => ({ case: "get", value });
const make = (patterns: Pattern[], streaming = false) =>
  createTranscoder({ services: [{ service: service(patterns, streaming), implementation: {} }] });

describe("Start-up", () => {
  test("the transcoder lists its routes", () => {
    const seen = { message: undefined, context: undefined, signals: [] };
    const { routes } = createTranscoder({ services: [{ service: LibraryService, implementation: library(seen) }] });
    expect(
      routes.filter((r) => r.method.name === "PutInner").map((r) => [r.httpMethod, r.template, r.body, r.responseBody]),
    ).toEqual([
      ["PUT", "/v1/inner/{id}", "inner", "inner"],
      ["PATCH", "/v1/inner/{id}", "*", ""],
    ]);
    expect(routes.some((r) => r.method.name === "Unbound")).toBe(false);
  });

  test.each<[string, string]>([
    ["/a/{a}", "/a/*"],
    ["/a/b", "/a/b"],
    ["/a/{a=**}", "/a/**"],
    ["/{a=a/*}/c", "/a/*/c"],
    ["/a/b:go", "/a/b:go"],
    ["/a/%62", "/a/b"],
  ])("start-up refuses %s and %s because they overlap", (one, other) => {
    expect(() => make([get(one), get(other)])).toThrow(
      `two bindings overlap: made.S.Rpc0 (GET ${one}) and made.S.Rpc1 (GET ${other})`,
    );
  });

  test.each<[string, string]>([
    ["/a/{a}", "/a/b"],
    ["/a/{a}", "/a/{a}:go"],
    ["/a/{a}", "/a/{a=**}"],
    ["/a/{a}/c", "/a/b/{a}"],
  ])("start-up accepts %s and %s because they do not overlap", (one, other) => {
    expect(() => make([get(one), get(other)])).not.toThrow();
  });

  test.each([
    ["a", "slash"],
    ["/", "literal"],
    ["/a//b", "literal"],
    ["/a/{a", "closed"],
    ["/a/{b}", "no field b"],
    ["/a/{many}", "repeated"],
    ["/a/{a.b}", "no message"],
    ["/a/**/b", "follow"],
    ["/a/{a}/{a}", "twice"],
    ["/a/{1}", "variable"],
    ["/a b", "literal"],
    ["/a/b*", "literal"],
  ])("start-up refuses the template %s: %s", (template, why) => {
    expect(() => make([get(template)])).toThrow(new RegExp(`^made\\.S\\.Rpc0: .*${why}`));
  });

  test("start-up refuses streams of requests and media types without a printer", () => {
    expect(() => make([get("/a")], true)).toThrow("made.S.Rpc0: an rpc with a stream of requests");
    const one = { service: service([get("/a")]), implementation: {} };
    expect(() => createTranscoder({ services: [one], rest: () => ({ mediaType: "text/csv" }) })).toThrow(
      "no encoder for text/csv",
    );
  });

  test("a more exact path that lacks the method falls back to one that has it", () => {
    const { allowed } = make([get("/a/{a}"), { case: "post", value: "/a/b" }]);
    expect(allowed("/a/b")).toEqual(["POST", "GET", "HEAD", "OPTIONS"]);
    expect(allowed("/a/c")).toEqual(["GET", "HEAD", "OPTIONS"]);
  });
});
