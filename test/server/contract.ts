import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import type { DescMessage, DescService } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const root = fileURLToPath(new URL("../..", import.meta.url));
const modules = [
  { path: "proto" },
  { path: "test/server/proto" },
  {
    path: "node_modules/google-proto-files",
    includes: ["node_modules/google-proto-files/google/api"],
    excludes: ["apikeys", "cloudquotas", "servicecontrol", "servicemanagement", "serviceusage"].map(
      (name) => `node_modules/google-proto-files/google/api/${name}`,
    ),
  },
];

const registry = createFileRegistry(
  fromBinary(
    FileDescriptorSetSchema,
    execFileSync(
      `${root}/node_modules/.bin/buf`,
      ["build", "test/server/proto", "--config", JSON.stringify({ version: "v2", modules }), "-o", "-"],
      {
        cwd: root,
        maxBuffer: 64 * 1024 * 1024,
      },
    ),
  ),
);

/** The service of the tests' own contract. */
export const EchoService = registry.getService("atrium.echo.v1.EchoService") as DescService;

/** A message type of the tests' own contract. */
export function messageType(name: string): DescMessage {
  return registry.getMessage(`atrium.echo.v1.${name}`) as DescMessage;
}
