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

/** The call whose headers {@link LazyResponseHeaders} represent. */
interface AnswerHeaderOwner {
  readonly existingResponseHeader: Headers | undefined;
  readonly responseHeader: Headers;
}

/** A call's response headers for interceptors, created when one of them is set. */
export class LazyResponseHeaders extends LazyHeaders {
  private readonly owner: AnswerHeaderOwner;

  constructor(owner: AnswerHeaderOwner) {
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
