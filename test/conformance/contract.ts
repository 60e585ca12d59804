import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { create, createFileRegistry, fromBinary, setExtension } from "@bufbuild/protobuf";
import type { DescMessage, DescService, FileRegistry } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { HttpRuleSchema } from "../../gen/google/api/http_pb.ts";
import { access, AccessSchema, Credential } from "../../gen/atrium/options/v1/options_pb.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const SERVICE = "connectrpc.conformance.v1.ConformanceService";

/** Rpcs that the server refuses to serve at all: the contract of the service has no client streams. */
const NOT_SERVED: ReadonlySet<string> = new Set(["ClientStream", "BidiStream"]);

/**
 * The contract of the conformance suite, from the `proto` folder of its Go module. Each rpc gets what the server
 * demands of any contract: an access declaration (public), and for the rpc that takes Connect GET a binding of GET.
 */
export function conformanceContract(protoFolder: string): { service: DescService; registry: FileRegistry } {
  const bytes = execFileSync(`${root}/node_modules/.bin/buf`, ["build", protoFolder, "-o", "-"], {
    maxBuffer: 1 << 26,
  });
  const set = fromBinary(FileDescriptorSetSchema, bytes);
  for (const service of set.file.flatMap((file) => file.service)) {
    if (service.name !== "ConformanceService") continue;
    service.method = service.method.filter(({ name }) => !NOT_SERVED.has(name));
    for (const method of service.method) {
      method.options ??= create(MethodOptionsSchema);
      setExtension(method.options, access, create(AccessSchema, { credential: Credential.PUBLIC }));
      if (method.name === "IdempotentUnary") {
        const rule = create(HttpRuleSchema, { pattern: { case: "get", value: "/conformance/idempotent-unary" } });
        setExtension(method.options, http, rule);
      }
    }
  }
  const registry = createFileRegistry(set);
  return { service: registry.getService(SERVICE) as DescService, registry };
}

/** A message type of the suite's contract. */
export function messageType(registry: FileRegistry, name: string): DescMessage {
  return registry.getMessage(`connectrpc.conformance.v1.${name}`) as DescMessage;
}
