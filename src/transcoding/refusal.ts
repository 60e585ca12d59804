import { Code, ConnectError } from "@connectrpc/connect";
import type { RefusalFacts, RefusalKind, Violation } from "./types.ts";

const table: Record<RefusalKind, readonly [status: number, code: Code]> = {
  method_not_allowed: [405, Code.InvalidArgument],
  not_acceptable: [406, Code.InvalidArgument],
  payload_too_large: [413, Code.ResourceExhausted],
  unsupported_media_type: [415, Code.InvalidArgument],
  malformed_path: [400, Code.InvalidArgument],
  malformed_header: [400, Code.InvalidArgument],
  malformed_body: [400, Code.InvalidArgument],
  invalid_path: [400, Code.InvalidArgument],
  invalid_query: [400, Code.InvalidArgument],
  invalid_body: [400, Code.InvalidArgument],
  deadline_exceeded: [504, Code.DeadlineExceeded],
  canceled: [499, Code.Canceled],
};

/**
 * The error of a request that the library refuses. It keeps the name ConnectError, by which Connect recognizes its
 * errors.
 */
export class Refusal extends ConnectError implements RefusalFacts {
  readonly kind: RefusalKind;
  readonly status: number;
  readonly violations: readonly Violation[];
  readonly headers: Readonly<Record<string, string>>;

  /** ConnectError takes every error of its name for an instance, and subclasses inherit that. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && Refusal.prototype.isPrototypeOf(value);
  }

  constructor(
    kind: RefusalKind,
    message: string,
    facts: { violations?: readonly Violation[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message, table[kind][1]);
    this.kind = kind;
    this.status = table[kind][0];
    this.violations = facts.violations ?? [];
    this.headers = facts.headers ?? {};
  }
}

/** A refusal that names its fields in the message too. */
export function invalid(
  kind: "invalid_path" | "invalid_query" | "invalid_body",
  violations: readonly Violation[],
): Refusal {
  return new Refusal(kind, describeViolations(violations), { violations });
}

/** The message of a refusal that has violations. */
export function describeViolations(violations: readonly Violation[]): string {
  return violations.map(({ field, message }) => `${field}: ${message}`).join("; ");
}
