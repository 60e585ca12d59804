import { readFileSync } from "node:fs";
import { join } from "node:path";
import { negotiateCoding } from "../../transcoding/index.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".png": "image/png",
};

/** A file of the built console in the encoding that a client accepts. */
export interface Asset {
  body: Buffer;
  headers: Record<string, string>;
}

/** Names that the build gives: no separators, and a hash before the extension. */
const NAME = /^[\w.-]+-[\w-]{8}(\.[a-z0-9]+)$/u;

/**
 * Reads the assets of a build, once each; there are a few hundred, a megabyte in all. A file that never existed is
 * looked for on every request.
 */
export function createAssets(folder: string): (name: string, accepted: string | undefined) => Asset | undefined {
  const read = new Map<string, Buffer>();

  function contentOf(name: string): Buffer | undefined {
    const known = read.get(name);
    if (known !== undefined) return known;
    try {
      const content = readFileSync(join(folder, "console", "assets", name));
      read.set(name, content);
      return content;
    } catch {
      return undefined;
    }
  }

  return (name, accepted) => {
    const type = TYPES[NAME.exec(name)?.[1] ?? ""];
    if (type === undefined) return undefined;
    const headers: Record<string, string> = {
      "content-type": type,
      "cache-control": "public, max-age=31536000, immutable",
      "cross-origin-resource-policy": "same-origin",
      "x-content-type-options": "nosniff",
      vary: "Accept-Encoding",
    };
    const compressed = { br: contentOf(`${name}.br`), gzip: contentOf(`${name}.gz`) };
    const offers = (["br", "gzip"] as const).filter((coding) => compressed[coding] !== undefined);
    const coding = negotiateCoding(accepted, offers);
    const body = coding === undefined ? contentOf(name) : compressed[coding];
    if (body === undefined) return undefined;
    return { body, headers: coding === undefined ? headers : { ...headers, "content-encoding": coding } };
  };
}
