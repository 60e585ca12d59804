import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root, run } from "../contract/run.ts";

/**
 * Field numbers of `FileDescriptorProto.service` and `ServiceDescriptorProto.method`: steps of a path in the source.
 */
const SERVICE = 6;
const METHOD = 2;

/** Fewest words that say what an rpc does and how it refuses. */
const FEWEST_WORDS = 4;

const files = contractFiles();

describe("the files of the contract", () => {
  test("the contract is formatted by buf (buf format -w proto)", () => {
    expect(run("buf", "format", "-d", "--exit-code", "proto")).toEqual({ ok: true, output: "" });
  });

  test("every file has the options with which plugins name Go, Java and C# packages without mapping flags", () => {
    expect(files.length).toBeGreaterThan(30);
    expect(files.map(optionsOf)).toEqual(files.map(wantedOptions));
  });

  test("every rpc has a comment that says what it does", () => {
    const comments = files.flatMap(commentsOfRpcs);
    expect(comments.length).toBeGreaterThan(200);
    expect(comments.filter(({ text }) => text.split(/\s+/u).length < FEWEST_WORDS)).toEqual([]);
  });
});

/** The files below `proto/`, with their comments. */
function contractFiles(): FileDescriptorProto[] {
  const set = execFileSync(join(root, "node_modules/.bin/buf"), ["build", "proto", "-o", "-"], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  return fromBinary(FileDescriptorSetSchema, set).file.filter(({ name }) => name.startsWith("atrium/"));
}

function optionsOf({ name, options }: FileDescriptorProto) {
  const { csharpNamespace, goPackage, javaMultipleFiles, javaPackage } = options ?? {};
  return { name, csharpNamespace, goPackage, javaMultipleFiles, javaPackage };
}

function wantedOptions(file: FileDescriptorProto) {
  const parts = file.package.split(".");
  const [area = "", version = ""] = parts.slice(-2);
  return {
    name: file.name,
    csharpNamespace: parts.map((part) => part.split("_").map(capitalized).join("")).join("."),
    goPackage: `atrium/gen/go/${parts.join("/")};${area.replaceAll("_", "")}${version}`,
    javaMultipleFiles: true,
    javaPackage: `com.${file.package}`,
  };
}

function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** Each rpc of a file with the comment before it. */
function commentsOfRpcs(file: FileDescriptorProto): { rpc: string; text: string }[] {
  const comments = new Map(
    file.sourceCodeInfo?.location.map(({ path, leadingComments }) => [path.join("."), leadingComments.trim()]),
  );
  return file.service.flatMap((service, at) =>
    service.method.map((method, nth) => ({
      rpc: `${service.name}.${method.name}`,
      text: comments.get([SERVICE, at, METHOD, nth].join(".")) ?? "",
    })),
  );
}
