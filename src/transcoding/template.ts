/** One step of a path: a literal (decoded), or a wildcard. */
export type Step = { readonly literal: string } | "*" | "**";

/** A variable of a template: which steps it takes. */
export interface Variable {
  /** Field path in the request: `user.id`. */
  readonly path: string;
  /** First step. */
  readonly from: number;
  /** Step after the last; the steps a `**` takes count as one. */
  readonly to: number;
  /** It may match several segments, so `%2F` stays encoded. */
  readonly multi: boolean;
}

/** A parsed path template of `google.api.http`. */
export interface Template {
  readonly steps: readonly Step[];
  readonly variables: readonly Variable[];
  /** What follows the colon; empty for none. */
  readonly verb: string;
  /** Equal for templates that match exactly the same paths. */
  readonly shape: string;
}

const fieldPath = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/;
const literalText = /^[^{}*/:?#=\s]+$/;

/**
 * Parses a path template: `/v1/{name=shelves/*}/books/{id}:move`.
 * @throws {Error} when it is not valid
 */
export function parseTemplate(text: string): Template {
  const fail = (why: string): never => {
    throw new Error(`path template ${JSON.stringify(text)}: ${why}`);
  };
  if (!text.startsWith("/")) fail("must start with a slash");
  const { body, verb } = splitVerb(text);
  if (verb !== "" && !literalText.test(verb)) fail("the verb is not a literal");
  const steps: Step[] = [];
  const variables: Variable[] = [];
  const push = (piece: string): void => {
    if (steps.includes("**")) fail("nothing but a verb may follow **");
    if (piece === "*" || piece === "**") steps.push(piece);
    else if (literalText.test(piece)) steps.push({ literal: decodeURIComponent(piece) });
    else fail(`${JSON.stringify(piece)} is neither a literal nor a wildcard`);
  };
  for (const piece of splitSegments(body.slice(1))) {
    if (!piece.startsWith("{")) {
      push(piece);
      continue;
    }
    if (!piece.endsWith("}")) fail("a variable is not closed");
    const [path = "", ...rest] = piece.slice(1, -1).split("=");
    if (!fieldPath.test(path) || rest.length > 1) fail(`${piece} is not a variable`);
    if (variables.some((other) => other.path === path)) fail(`the variable ${path} is there twice`);
    const from = steps.length;
    const inner = (rest[0] ?? "*").split("/");
    inner.forEach(push);
    variables.push({ path, from, to: steps.length, multi: inner.length > 1 || inner[0] === "**" });
  }
  const shape = steps.map((step) => (typeof step === "string" ? step : JSON.stringify(step.literal))).join("/");
  return { steps, variables, verb, shape: verb === "" ? shape : `${shape}:${verb}` };
}

/** Splits off the verb: the colon after the last slash and outside a variable. */
function splitVerb(text: string): { body: string; verb: string } {
  const tail = Math.max(text.lastIndexOf("}"), text.lastIndexOf("/"));
  const colon = text.indexOf(":", tail);
  return colon < 0 ? { body: text, verb: "" } : { body: text.slice(0, colon), verb: text.slice(colon + 1) };
}

/** Splits at the slashes outside braces. */
function splitSegments(text: string): string[] {
  return text.match(/(?:\{[^}]*\}?|[^/{])+|(?<=\/|^)(?=\/|$)/g) ?? [""];
}
