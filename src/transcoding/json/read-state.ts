import type { Message, Registry } from "@bufbuild/protobuf";
import type { Violation } from "../types.ts";
import { formatPath } from "./parse.ts";
import type { JsonNode } from "./parse.ts";

/** What one reading of a document keeps track of. */
export class ReadState {
  readonly violations: Violation[] = [];
  /** Steps from the root to the value being read; only the first `depth` count. */
  readonly path: (string | number)[] = [];
  depth = 0;
  readonly registry: Registry | undefined;
  private readonly most: number;

  constructor(registry: Registry | undefined, most: number) {
    this.registry = registry;
    this.most = most;
  }

  /** Notes that the value at the present path does not fit. */
  addViolation(code: string, message: string): undefined {
    if (this.violations.length < this.most) this.violations.push({ field: this.where(), code, message });
    return undefined;
  }

  /** The present path in the names of the wire. */
  where(): string {
    return formatPath(this.path, this.depth) || "body";
  }
}

/** Reads a message; undefined when a violation was noted instead. */
export type MessageReader = (node: JsonNode, state: ReadState) => Message | undefined;
/** Puts a member's value into its message. */
export type FieldReader = (message: Record<string, unknown>, node: JsonNode, state: ReadState) => void;
