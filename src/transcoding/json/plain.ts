import { readJson } from "./parse.ts";
import type { JsonNode } from "./parse.ts";

/** A JSON value as JavaScript has it. */
export type PlainJson = null | boolean | number | string | PlainJson[] | { [name: string]: PlainJson };

/** Maximum levels of arrays and objects; the root is level 1. */
const MAX_DEPTH = 32;

/** Sets a member even where it is called `__proto__`. */
export function setOwn(target: object, name: string, value: unknown): void {
  if (name === "__proto__")
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  else (target as Record<string, unknown>)[name] = value;
}

/** Turns what was read into plain JavaScript values; big integers lose digits as they do with `JSON.parse`. */
export function toPlain(node: JsonNode): PlainJson {
  if (typeof node === "bigint") return Number(node);
  if (node === null || typeof node !== "object") return node;
  if (Array.isArray(node)) return node.map(toPlain);
  const out: { [name: string]: PlainJson } = {};
  node.keys.forEach((key, i) => setOwn(out, key, toPlain(node.values[i] ?? null)));
  return out;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Reads JSON strictly (see `readJson`) into plain values.
 * @throws JsonError naming the path
 */
export function parseJson(bytes: Uint8Array): PlainJson {
  return toPlain(readJson(asBuffer(bytes), MAX_DEPTH));
}

/**
 * Checks JSON by the same rules and keeps nothing.
 * @throws JsonError naming the path
 */
export function checkJson(bytes: Uint8Array): void {
  readJson(asBuffer(bytes), MAX_DEPTH);
}
