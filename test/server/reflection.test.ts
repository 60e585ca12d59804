import { create, createFileRegistry, fromBinary, toJson } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import type { ServerReflectionResponse } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

type Reflection = typeof ServerReflection | typeof ServerReflectionAlpha;
type Question = { case: "fileByFilename" | "fileContainingSymbol"; value: string };

let server: Running;
beforeAll(async () => void (server = await start()));
afterAll(() => server.close());

/** A file and its imports, imports first, as reflection returns them. */
async function filesOf(service: typeof ServerReflection, symbol: string): Promise<FileDescriptorProto[]> {
  const [file] = await answers(service, { case: "fileContainingSymbol", value: symbol });
  const imports = file?.dependency.map((name) => answers(service, { case: "fileByFilename", value: name })) ?? [];
  return [...(await Promise.all(imports)).flat(), ...(file === undefined ? [] : [file])];
}

/** Names of the files that reflection returns. */
async function filesFor(service: Reflection, question: Question): Promise<string[]> {
  return (await answers(service, question)).map(({ name }) => name);
}

async function answers(service: Reflection, question: Question): Promise<FileDescriptorProto[]> {
  const client = server.client("grpc", service);
  async function* ask() {
    yield await Promise.resolve({ messageRequest: question });
  }
  for await (const answer of client["serverReflectionInfo"]?.(ask()) ?? []) {
    const { messageResponse } = answer as unknown as ServerReflectionResponse;
    if (messageResponse.case !== "fileDescriptorResponse") return [];
    return messageResponse.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  }
  return [];
}

test.each([
  ["v1", ServerReflection],
  ["v1alpha", ServerReflectionAlpha],
] as const)("reflection %s has the messages of error details, by name and by file", async (_version, service) => {
  const file = "google/rpc/error_details.proto";
  expect(await filesFor(service, { case: "fileByFilename", value: file })).toEqual([file]);
  for (const symbol of ["google.rpc.ErrorInfo", "google.rpc.BadRequest", "google.rpc.BadRequest.FieldViolation"]) {
    expect(await filesFor(service, { case: "fileContainingSymbol", value: symbol })).toEqual([file]);
  }
  expect(await filesFor(service, { case: "fileByFilename", value: "google/protobuf/duration.proto" })).toEqual([
    "google/protobuf/duration.proto",
  ]);
  expect(await filesFor(service, { case: "fileContainingSymbol", value: "google.rpc.Nothing" })).toEqual([]);
});

test("a client that knows the service by reflection alone can decode field errors", async () => {
  const error = (await server
    .client("grpc")
    ["hello"]?.({ name: "much too long" })
    .catch((reason: unknown) => reason)) as ConnectError;
  const registry = createFileRegistry(
    create(FileDescriptorSetSchema, { file: await filesOf(ServerReflection, "google.rpc.BadRequest") }),
  );
  const details = error.details.map((detail) => {
    const { type, value } = detail as { type: string; value: Uint8Array };
    const desc = registry.getMessage(type);
    return desc === undefined ? type : toJson(desc, fromBinary(desc, value));
  });
  expect(details).toMatchObject([
    { reason: "VALIDATION_ERROR", domain: "atrium", metadata: { http_status: "400" } },
    { fieldViolations: [{ field: "name", reason: "TOO_LONG" }] },
  ]);
});
