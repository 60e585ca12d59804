import type { RequestHead } from "./types.ts";

/** `Headers` that are created when all of them are needed. */
abstract class LazyHeaders implements Headers {
  protected abstract all(): Headers;
  abstract get(name: string): string | null;

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  append(name: string, value: string): void {
    this.all().append(name, value);
  }

  delete(name: string): void {
    this.all().delete(name);
  }

  set(name: string, value: string): void {
    this.all().set(name, value);
  }

  getSetCookie(): string[] {
    return this.all().getSetCookie();
  }

  forEach(visit: (value: string, name: string, parent: Headers) => void, thisArg?: unknown): void {
    this.all().forEach((value, name) => {
      visit.call(thisArg, value, name, this);
    });
  }

  entries(): ReturnType<Headers["entries"]> {
    return this.all().entries();
  }

  keys(): ReturnType<Headers["keys"]> {
    return this.all().keys();
  }

  values(): ReturnType<Headers["values"]> {
    return this.all().values();
  }

  [Symbol.iterator](): ReturnType<Headers["entries"]> {
    return this.all().entries();
  }
}

/**
 * The request's headers. `Headers` are created only for methods other than `get` and `has`: creating them costs more
 * than a small call.
 */
export class RequestHeaders extends LazyHeaders {
  private readonly request: RequestHead;
  private full: Headers | undefined;

  constructor(request: RequestHead) {
    super();
    this.request = request;
  }

  protected override all(): Headers {
    if (this.full === undefined) {
      this.full = new Headers();
      for (const [name, value] of Object.entries(this.request.headers)) {
        if (name.startsWith(":") || value === undefined) continue;
        if (typeof value === "string") this.full.append(name, value);
        else for (const one of value) this.full.append(name, one);
      }
    }
    return this.full;
  }

  override get(name: string): string | null {
    if (this.full !== undefined) return this.full.get(name);
    const lower = name.toLowerCase();
    if (lower.startsWith(":")) return null;
    const value = this.request.headers[lower];
    if (typeof value === "string") return value;
    return value === undefined ? null : value.join(", ");
  }
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** A value that `Headers` keep as it is. */
const plainValue = /^[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?$/;

/**
 * The headers of a response. Those that are set once, as nearly all are, stay a list of names and values: `Headers`
 * cost more than a small call.
 */
export class ResponseHeaders extends LazyHeaders {
  /** Lower-case names and values in turn; undefined once there are `Headers`. */
  private list: string[] | undefined = [];
  private full: Headers | undefined;

  protected override all(): Headers {
    if (this.full === undefined) {
      const full = (this.full = new Headers());
      this.forEach((value, name) => full.append(name, value));
      this.list = undefined;
    }
    return this.full;
  }

  override get(name: string): string | null {
    if (this.list === undefined) return this.all().get(name);
    const at = this.indexOf(this.list, name.toLowerCase());
    return at < 0 ? null : (this.list[at + 1] as string);
  }

  override set(name: string, value: string): void {
    const { list } = this;
    if (list === undefined || !token.test(name) || !plainValue.test(value)) return this.all().set(name, value);
    const lower = name.toLowerCase();
    const at = this.indexOf(list, lower);
    if (at < 0) list.push(lower, value);
    else list[at + 1] = value;
  }

  override forEach(visit: (value: string, name: string, parent: Headers) => void, thisArg?: unknown): void {
    const { list } = this;
    if (list === undefined) return super.forEach(visit, thisArg);
    for (let at = 0; at < list.length; at += 2) visit.call(thisArg, list[at + 1] as string, list[at] as string, this);
  }

  private indexOf(list: readonly string[], lower: string): number {
    for (let at = 0; at < list.length; at += 2) if (list[at] === lower) return at;
    return -1;
  }
}

/** The call whose headers {@link LazyResponseHeaders} represent. */
interface ResponseHeaderOwner {
  readonly existingResponseHeader: Headers | undefined;
  readonly responseHeader: Headers;
}

/** A call's response headers for interceptors, created when one of them is set. */
export class LazyResponseHeaders extends LazyHeaders {
  private readonly owner: ResponseHeaderOwner;

  constructor(owner: ResponseHeaderOwner) {
    super();
    this.owner = owner;
  }

  protected override all(): Headers {
    return this.owner.responseHeader;
  }

  override get(name: string): string | null {
    return this.owner.existingResponseHeader?.get(name) ?? null;
  }
}
