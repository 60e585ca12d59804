import { create, createFileRegistry } from "@bufbuild/protobuf";
import type { DescService } from "@bufbuild/protobuf";
import { CodeGeneratorResponseSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { runNodeJs } from "@bufbuild/protoplugin";
import { documentOf } from "./document.ts";

/**
 * The plugin of `buf generate` that writes `gen/openapi.json`. It reads the descriptors of the request; the options of
 * this contract come from `gen/`, so that a change of `options.proto` itself needs two runs.
 */
runNodeJs({
  name: "protoc-gen-atrium-openapi",
  version: "v1",
  run(request) {
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: request.protoFile }));
    const services: DescService[] = [...registry].filter(
      (type) => type.kind === "service" && type.typeName.startsWith("atrium."),
    ) as DescService[];
    // The inputs of `buf generate` besides the contract have no service of ours.
    if (services.length === 0) return create(CodeGeneratorResponseSchema);
    services.sort((a, b) => (a.typeName < b.typeName ? -1 : 1));
    const content = `${JSON.stringify(documentOf(services), undefined, 1)}\n`;
    return create(CodeGeneratorResponseSchema, { file: [{ name: "openapi.json", content }] });
  },
});
