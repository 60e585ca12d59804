import { clearField, fromBinary, toBinary } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** Method options that a client does not read: bindings and responses of REST, and the errors that an rpc names. */
const UNUSED_METHOD_OPTIONS: ReadonlySet<number> = new Set([72295728, 50102, 50106]);

/**
 * Leaves out of a generated module its comments, which its declarations have too, and of its embedded descriptor what
 * no client reads: the names of packages in other languages, how rpcs look over REST, and which errors they name. The
 * descriptor's part is a fourth of what a browser would load.
 */
export function slim(module: string): string {
  const code = module.replaceAll(/^ *\/\*\*\n(?: *\*.*\n)+/gmu, "");
  return code.replace(/fileDesc\("([A-Za-z0-9+/=]+)"/u, (_, encoded: string) => {
    const file = fromBinary(FileDescriptorProtoSchema, base64Decode(encoded));
    if (file.options !== undefined) clearField(file, FileDescriptorProtoSchema.field.options);
    for (const { method } of file.service)
      for (const { options } of method)
        if (options?.$unknown !== undefined)
          options.$unknown = options.$unknown.filter(({ no }) => !UNUSED_METHOD_OPTIONS.has(no));
    return `fileDesc("${base64Encode(toBinary(FileDescriptorProtoSchema, file), "std_raw")}"`;
  });
}
