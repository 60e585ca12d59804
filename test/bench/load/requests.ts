import { readFileSync, writeFileSync } from "node:fs";

/** A request to be sent again and again. */
export interface RequestSpec {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The bytes of an HTTP/1.1 request. */
function requestBytes(spec: RequestSpec): Buffer {
  const body = Buffer.from(spec.body ?? "", "utf8");
  const headers: Record<string, string> = { host: "localhost", ...spec.headers };
  if (body.length > 0) headers["content-length"] = String(body.length);
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${spec.method} ${spec.path} HTTP/1.1\r\n${head.join("")}\r\n`, "latin1"), body]);
}

/** Writes requests to a file that both our generator and wrk's script read: each as `<length>:<bytes>`. */
export function writeRequests(file: string, specs: readonly RequestSpec[]): string {
  const parts: Buffer[] = [];
  for (const spec of specs) {
    const bytes = requestBytes(spec);
    parts.push(Buffer.from(`${bytes.length}:`, "latin1"), bytes);
  }
  writeFileSync(file, Buffer.concat(parts));
  return file;
}

/** Reads what {@link writeRequests} wrote. */
export function readRequests(file: string): Buffer[] {
  const all = readFileSync(file);
  const found: Buffer[] = [];
  for (let at = 0; at < all.length; ) {
    const colon = all.indexOf(0x3a, at);
    const length = Number(all.toString("latin1", at, colon));
    found.push(all.subarray(colon + 1, colon + 1 + length));
    at = colon + 1 + length;
  }
  return found;
}
