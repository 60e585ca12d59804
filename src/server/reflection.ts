import { nestedTypes } from "@bufbuild/protobuf/reflect";
import type { DescExtension, DescFile, DescService } from "@bufbuild/protobuf";
import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import type { ServerReflectionRequest } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { ServerReflectionRequest as AlphaRequest } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { registration } from "../platform/rpc.ts";
import type { ServiceRegistration } from "../platform/rpc.ts";

/** The files of services, by what clients can ask for. */
interface Index {
  services: string[];
  files: Map<string, DescFile>;
  symbols: Map<string, DescFile>;
  extensions: Map<string, Map<number, DescFile>>;
}

type Question = (ServerReflectionRequest | AlphaRequest)["messageRequest"];

/** Creates gRPC server reflection, v1 and v1alpha, over the descriptors of the server. */
export function reflectionServices(services: readonly DescService[]): ServiceRegistration[] {
  const all = [...services, ServerReflection, ServerReflectionAlpha];
  let index: Index | undefined;
  const responseTo = (question: Question) => respond((index ??= buildIndex(all)), question);
  async function* serverReflectionInfo(requests: AsyncIterable<ServerReflectionRequest>) {
    for await (const request of requests)
      yield { validHost: request.host, originalRequest: request, messageResponse: responseTo(request.messageRequest) };
  }
  async function* serverReflectionInfoAlpha(requests: AsyncIterable<AlphaRequest>) {
    for await (const request of requests)
      yield { validHost: request.host, originalRequest: request, messageResponse: responseTo(request.messageRequest) };
  }
  return [
    registration(ServerReflection, { serverReflectionInfo }),
    registration(ServerReflectionAlpha, { serverReflectionInfo: serverReflectionInfoAlpha }),
  ];
}

function respond(index: Index, question: Question) {
  switch (question.case) {
    case "listServices":
      return { case: "listServicesResponse" as const, value: { service: index.services.map((name) => ({ name })) } };
    case "fileByFilename":
      return file(index.files.get(question.value), question.value);
    case "fileContainingSymbol":
      return file(index.symbols.get(question.value), question.value);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = question.value;
      return file(
        index.extensions.get(containingType)?.get(extensionNumber),
        `extension ${extensionNumber} of ${containingType}`,
      );
    }
    case "allExtensionNumbersOfType": {
      const found = index.extensions.get(question.value);
      if (found === undefined && !index.symbols.has(question.value)) return unknown(question.value);
      return {
        case: "allExtensionNumbersResponse" as const,
        value: { baseTypeName: question.value, extensionNumber: [...(found?.keys() ?? [])] },
      };
    }
    default:
      return {
        case: "errorResponse" as const,
        value: { errorCode: Code.InvalidArgument, errorMessage: "no question" },
      };
  }
}

function file(found: DescFile | undefined, name: string) {
  if (found === undefined) return unknown(name);
  return {
    case: "fileDescriptorResponse" as const,
    value: { fileDescriptorProto: [toBinary(FileDescriptorProtoSchema, found.proto)] },
  };
}

function unknown(name: string) {
  return { case: "errorResponse" as const, value: { errorCode: Code.NotFound, errorMessage: `${name} is not known` } };
}

function buildIndex(services: readonly DescService[]): Index {
  const index: Index = {
    services: services.map((service) => service.typeName),
    files: new Map(),
    symbols: new Map(),
    extensions: new Map(),
  };
  for (const service of services) addFile(index, service.file);
  // No rpc references the details of errors: a client asks for them when it receives one.
  addFile(index, file_google_rpc_error_details);
  return index;
}

function addFile(index: Index, desc: DescFile): void {
  const { name } = desc.proto;
  if (index.files.has(name)) return;
  index.files.set(name, desc);
  for (const dependency of desc.dependencies) addFile(index, dependency);
  for (const type of nestedTypes(desc)) {
    index.symbols.set(type.typeName, desc);
    if (type.kind === "extension") addExtension(index, type, desc);
    if (type.kind === "message")
      for (const field of type.fields) index.symbols.set(`${type.typeName}.${field.name}`, desc);
    if (type.kind === "service")
      for (const method of type.methods) index.symbols.set(`${type.typeName}.${method.name}`, desc);
  }
}

function addExtension(index: Index, extension: DescExtension, desc: DescFile): void {
  const numbers = index.extensions.get(extension.extendee.typeName) ?? new Map<number, DescFile>();
  numbers.set(extension.number, desc);
  index.extensions.set(extension.extendee.typeName, numbers);
}
