import type { Step, Template } from "./template.ts";

/** What a path was matched to. */
export interface Match<T> {
  /** By HTTP method; `*` takes every other. */
  readonly targets: ReadonlyMap<string, Entry<T>>;
  /** Segments as they were sent, without a verb. */
  readonly segments: readonly string[];
}

/** A target with the template it was added under. */
export interface Entry<T> {
  readonly template: Template;
  readonly target: T;
}

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  one: Node<T> | undefined;
  /** Leaves of a `**` at this place, by verb. */
  readonly rest: Map<string, Map<string, Entry<T>>>;
  /** Leaves that end here, by verb. */
  readonly ends: Map<string, Map<string, Entry<T>>>;
}

const noMatches: readonly never[] = [];

/** Finds the bindings of a path; a literal wins over `*`, and `*` over `**`, segment by segment from the left. */
export class Matcher<T> {
  private readonly root = newNode<T>();
  private readonly fixed = new Map<string, Match<T>[]>();
  private hasVerbs = false;

  /** Adds a binding. Returns the target it overlaps with, and then adds nothing. */
  add(method: string, template: Template, target: T): T | undefined {
    let node = this.root;
    let leaves = node.ends;
    for (const step of template.steps) {
      if (step === "**") leaves = node.rest;
      else leaves = (node = child(node, step)).ends;
    }
    let targets: Map<string, Entry<T>> | undefined = leaves.get(template.verb);
    if (targets === undefined) leaves.set(template.verb, (targets = new Map<string, Entry<T>>()));
    const other = targets.get(method);
    if (other !== undefined) return other.target;
    targets.set(method, { template, target });
    this.hasVerbs ||= template.verb !== "";
    return undefined;
  }

  /** Resolves every path without variables in advance. Call after the last `add`. */
  seal(paths: readonly string[]): void {
    for (const path of paths) this.fixed.set(path, this.walk(path));
  }

  /**
   * Every match of a path, best first, since the best one may lack the method.
   * Empty: no such path.
   */
  find(path: string): readonly Match<T>[] {
    return this.fixed.get(path) ?? this.walk(path);
  }

  private walk(path: string): Match<T>[] {
    if (path.charCodeAt(0) !== 0x2f) return [];
    const segments = path.slice(1).split("/");
    if (segments.includes("")) return [];
    const found: Match<T>[] = [];
    const last = segments[segments.length - 1] as string;
    const colon = this.hasVerbs ? last.lastIndexOf(":") : -1;
    if (colon > 0)
      descend(this.root, [...segments.slice(0, -1), last.slice(0, colon)], 0, last.slice(colon + 1), found);
    descend(this.root, segments, 0, "", found);
    return found.length === 0 ? (noMatches as unknown as Match<T>[]) : found;
  }
}

function newNode<T>(): Node<T> {
  return { literals: new Map(), one: undefined, rest: new Map(), ends: new Map() };
}

function child<T>(node: Node<T>, step: Step): Node<T> {
  if (typeof step === "string") return (node.one ??= newNode());
  let next = node.literals.get(step.literal);
  if (next === undefined) node.literals.set(step.literal, (next = newNode()));
  return next;
}

function descend<T>(node: Node<T>, segments: readonly string[], at: number, verb: string, found: Match<T>[]): void {
  if (at === segments.length) {
    const targets = node.ends.get(verb);
    if (targets !== undefined) found.push({ targets, segments });
  } else {
    const segment = segments[at] as string;
    const literal = node.literals.get(segment.includes("%") ? decodeOr(segment) : segment);
    if (literal !== undefined) descend(literal, segments, at + 1, verb, found);
    if (node.one !== undefined) descend(node.one, segments, at + 1, verb, found);
  }
  const rest = node.rest.get(verb);
  if (rest !== undefined) found.push({ targets: rest, segments });
}

function decodeOr(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** A variable's text, decoded; `ok` is false where the percent-encoding is broken or hides a NUL. */
export function captured(
  segments: readonly string[],
  variable: { from: number; to: number; multi: boolean },
  open: boolean,
): { text: string; ok: boolean } {
  const { from, to, multi } = variable;
  const raw = multi ? segments.slice(from, open ? undefined : to).join("/") : (segments[from] as string);
  if (!raw.includes("%")) return { text: raw, ok: !raw.includes("\0") };
  try {
    // A slash that was encoded must not look like one that was not.
    const text = decodeURIComponent(multi ? raw.replace(/%(?=2[Ff])/g, "%25") : raw);
    return { text, ok: !text.includes("\0") };
  } catch {
    return { text: raw, ok: false };
  }
}
