import type { NodeRequest } from "./types.ts";

/**
 * The request's headers as `Headers`, made from node's own only when something
 * but `get` and `has` is asked: making them costs more than a small call.
 */
export class RequestHeaders implements Headers {
  private readonly request: NodeRequest;
  private full: Headers | undefined;

  constructor(request: NodeRequest) {
    this.request = request;
  }

  private all(): Headers {
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

  get(name: string): string | null {
    if (this.full !== undefined) return this.full.get(name);
    const lower = name.toLowerCase();
    if (lower.startsWith(":")) return null;
    const value = this.request.headers[lower];
    if (typeof value === "string") return value;
    return value === undefined ? null : value.join(", ");
  }

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
    this.all().forEach((value, name) => visit.call(thisArg, value, name, this));
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
