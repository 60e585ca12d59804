import { isUtf8 } from "node:buffer";

/** What JSON text is read into: members keep their order, and big integers their digits. */
export type JsonNode = null | boolean | number | bigint | string | JsonNode[] | JsonObject;

/** A JSON object: names and values side by side, so that no name (`__proto__`) is special. */
export class JsonObject {
  readonly keys: string[] = [];
  readonly values: JsonNode[] = [];
}

/** JSON that cannot be read, or that is forbidden. */
export class JsonError extends Error {
  /** Where in the document: `a.b[2]`; empty for the root. */
  readonly path: string;

  constructor(what: string, path: string) {
    super(path === "" ? what : `${path}: ${what}`);
    this.name = "JsonError";
    this.path = path;
  }
}

/** Prints a path of member names and indices: `a.b[2]`. */
export function formatPath(steps: readonly (string | number)[], length = steps.length): string {
  let out = "";
  for (let i = 0; i < length; i++) {
    const step = steps[i];
    if (typeof step === "number") out += `[${step}]`;
    else out += out === "" ? step : `.${step}`;
  }
  return out;
}

const numberPattern = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
/** Objects with more members look for duplicates with a set. */
const fewMembers = 12;

/**
 * Reads one JSON text (RFC 8259) strictly: valid UTF-8, no byte order mark, no member twice, no NUL, no lone surrogate,
 * nothing after the value, and at most `maxDepth` levels of arrays and objects. A number beyond a double is refused,
 * or, where the fields check their values themselves (`huge`), read as infinite.
 * @throws JsonError
 */
export function readJson(bytes: Buffer, maxDepth: number, huge: "refused" | "infinite" = "refused"): JsonNode {
  if (!isUtf8(bytes)) throw new JsonError("the text is not valid UTF-8", "");
  return new Reader(bytes.toString("utf8"), maxDepth, huge === "infinite").document();
}

/** True where a number somewhere in a value was beyond a double. */
export function hasHugeNumber(node: JsonNode): boolean {
  if (typeof node === "number") return !Number.isFinite(node);
  if (node === null || typeof node !== "object") return false;
  return (Array.isArray(node) ? node : node.values).some(hasHugeNumber);
}

class Reader {
  private readonly text: string;
  private readonly maxDepth: number;
  private readonly takesHuge: boolean;
  private readonly path: (string | number)[] = [];
  private depth = 0;
  private at = 0;

  constructor(text: string, maxDepth: number, takesHuge: boolean) {
    this.text = text;
    this.maxDepth = maxDepth;
    this.takesHuge = takesHuge;
  }

  document(): JsonNode {
    const value = this.value(this.next());
    if (!Number.isNaN(this.next())) throw this.error("there is text after the JSON value");
    return value;
  }

  private error(what: string): JsonError {
    return new JsonError(what, formatPath(this.path, this.depth));
  }

  private unexpected(): JsonError {
    if (this.at >= this.text.length) return this.error("the JSON text ends too early");
    return this.error(`unexpected character at offset ${this.at} of the JSON text`);
  }

  /** Skips white space; the character there, NaN at the end. */
  private next(): number {
    const { text } = this;
    let c = text.charCodeAt(this.at);
    while (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) c = text.charCodeAt(++this.at);
    return c;
  }

  private value(c: number): JsonNode {
    switch (c) {
      case 0x22:
        return this.string();
      case 0x7b:
        return this.object();
      case 0x5b:
        return this.array();
      case 0x74:
        return this.word("true", true);
      case 0x66:
        return this.word("false", false);
      case 0x6e:
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  private word<T>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.at)) throw this.unexpected();
    this.at += word.length;
    return value;
  }

  private enter(): void {
    if (this.depth >= this.maxDepth) throw this.error(`the JSON text is nested deeper than ${this.maxDepth} levels`);
    this.depth++;
    this.at++;
  }

  private object(): JsonObject {
    this.enter();
    const { path } = this;
    const step = this.depth - 1;
    path[step] = "";
    const object = new JsonObject();
    const { keys, values } = object;
    let names: Set<string> | undefined;
    let seen = 0;
    if (this.next() === 0x7d) return this.leave(object);
    for (;;) {
      if (this.next() !== 0x22) {
        this.depth--;
        throw this.unexpected();
      }
      // What is wrong with a name is wrong with the object.
      this.depth--;
      const key = this.string();
      this.depth++;
      path[step] = key;
      // Names that differ in length or first character need not be compared.
      const bit = 1 << (key.length * 5 + key.charCodeAt(0));
      if (names === undefined ? (seen & bit) !== 0 && keys.includes(key) : names.has(key))
        throw this.error("the member is there twice");
      seen |= bit;
      if (this.next() !== 0x3a) throw this.unexpected();
      this.at++;
      values.push(this.value(this.next()));
      keys.push(key);
      if (names !== undefined) names.add(key);
      else if (keys.length === fewMembers) names = new Set(keys);
      const c = this.next();
      if (c === 0x7d) return this.leave(object);
      if (c !== 0x2c) throw this.unexpected();
      this.at++;
    }
  }

  private array(): JsonNode[] {
    this.enter();
    const { path } = this;
    const step = this.depth - 1;
    path[step] = 0;
    const items: JsonNode[] = [];
    let c = this.next();
    if (c === 0x5d) return this.leave(items);
    for (;;) {
      path[step] = items.length;
      items.push(this.value(c));
      c = this.next();
      if (c === 0x5d) return this.leave(items);
      if (c !== 0x2c) throw this.unexpected();
      this.at++;
      c = this.next();
    }
  }

  private leave<T>(value: T): T {
    this.depth--;
    this.at++;
    return value;
  }

  /** An integer of few digits, the usual number, needs no pattern. */
  private number(): number | bigint {
    const { text } = this;
    let value = 0;
    let i = this.at;
    let c = text.charCodeAt(i);
    while (c >= 0x30 && c <= 0x39) {
      value = value * 10 + (c - 0x30);
      c = text.charCodeAt(++i);
    }
    const digits = i - this.at;
    const isWhole = c !== 0x2e && (c | 0x20) !== 0x65;
    if (!isWhole || digits === 0 || digits > 15 || (digits > 1 && text.charCodeAt(this.at) === 0x30))
      return this.anyNumber();
    this.at = i;
    return value;
  }

  private anyNumber(): number | bigint {
    numberPattern.lastIndex = this.at;
    const found = numberPattern.exec(this.text);
    if (found === null) throw this.unexpected();
    const literal = found[0];
    this.at += literal.length;
    const value = Number(literal);
    if (!Number.isFinite(value)) {
      if (!this.takesHuge) throw this.error("the number is too big");
      return value;
    }
    if (Number.isSafeInteger(value) || found[1] !== undefined || found[2] !== undefined) return value;
    return BigInt(literal);
  }

  private string(): string {
    const { text } = this;
    const start = ++this.at;
    for (let i = start; ; i++) {
      const c = text.charCodeAt(i);
      if (c === 0x22) {
        this.at = i + 1;
        return text.slice(start, i);
      }
      if (c === 0x5c) return this.escaped(start, i);
      if (!(c >= 0x20)) {
        this.at = i;
        throw this.error(
          Number.isNaN(c) ? "the JSON text ends inside a string" : "a string holds a raw control character",
        );
      }
    }
  }

  /** A string with escapes, the first at `from`: the engine's own reader decodes it. */
  private escaped(start: number, from: number): string {
    const { text } = this;
    let i = from;
    for (let c = text.charCodeAt(i); c !== 0x22; c = text.charCodeAt(i)) {
      if (Number.isNaN(c)) throw this.error("the JSON text ends inside a string");
      i += c === 0x5c ? 2 : 1;
    }
    this.at = i + 1;
    let value: string;
    try {
      value = JSON.parse(text.slice(start - 1, i + 1)) as string;
    } catch {
      throw this.error("a string holds a broken escape or a raw control character");
    }
    if (!value.isWellFormed()) throw this.error("a string holds half of a surrogate pair");
    if (value.includes("\0")) throw this.error("a string holds a NUL character");
    return value;
  }
}
