import type { CompareValue, Filter, Operator, ValuePath } from "./ast.ts";
import { FilterSyntaxError, tokensOf } from "./tokens.ts";
import type { Token } from "./tokens.ts";

/** Maximum size of a filter, in bytes of UTF-8. */
const MAX_BYTES = 8_192;
/** Maximum nesting of groups and value paths. */
const MAX_DEPTH = 32;

const operators: ReadonlySet<string> = new Set(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]);
const literals: Readonly<Record<string, CompareValue>> = { true: true, false: false, null: null };

/** Reads one filter or path by recursive descent; the grammar is in `grammar.abnf`. */
class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    if (Buffer.byteLength(text) > MAX_BYTES) throw new FilterSyntaxError(`it has more than ${MAX_BYTES} bytes`);
    this.#tokens = tokensOf(text);
  }

  get #next(): Token {
    return this.#tokens[this.#at] as Token;
  }

  #is(kind: Token["kind"]): boolean {
    return this.#next.kind === kind;
  }

  #take(kind: Token["kind"]): Token {
    const token = this.#next;
    if (token.kind !== kind) throw this.#unexpected(kind === "end" ? "the end" : `"${kind}"`);
    this.#at += 1;
    return token;
  }

  #unexpected(wanted: string): FilterSyntaxError {
    const { kind, at } = this.#next;
    return new FilterSyntaxError(`${wanted} is expected at ${kind === "end" ? "the end" : `character ${at + 1}`}`);
  }

  #isWord(text: string): boolean {
    const token = this.#next;
    return token.kind === "word" && token.text.toLowerCase() === text;
  }

  #word(wanted: string): string {
    const token = this.#next;
    if (token.kind !== "word") throw this.#unexpected(wanted);
    this.#at += 1;
    return token.text;
  }

  filter(): Filter {
    const filter = this.#or(0);
    this.#take("end");
    return filter;
  }

  path(): ValuePath {
    const path = this.#word("an attribute");
    if (this.#is("end")) return { path, filter: undefined, sub: undefined };
    this.#take("[");
    const filter = this.#or(1, true);
    this.#take("]");
    let sub: string | undefined;
    if (this.#is(".")) {
      this.#at += 1;
      sub = this.#word("an attribute");
    }
    this.#take("end");
    return { path, filter, sub };
  }

  #or(depth: number, inside = false): Filter {
    if (depth > MAX_DEPTH) throw new FilterSyntaxError(`it is nested deeper than ${MAX_DEPTH} levels`);
    return this.#joined("or", () => this.#joined("and", () => this.#term(depth, inside)));
  }

  #joined(kind: "and" | "or", term: () => Filter): Filter {
    const terms = [term()];
    while (this.#isWord(kind)) {
      this.#at += 1;
      terms.push(term());
    }
    return terms.length === 1 ? (terms[0] as Filter) : { kind, terms };
  }

  #term(depth: number, inside: boolean): Filter {
    if (this.#is("(")) return this.#group(depth, inside);
    const path = this.#word("an attribute");
    if (path.toLowerCase() === "not" && this.#is("(")) return { kind: "not", term: this.#group(depth, inside) };
    if (this.#is("[") && !inside) {
      this.#at += 1;
      const filter = this.#or(depth + 1, true);
      this.#take("]");
      if (!this.#is(".")) return { kind: "values", path, filter };
      // As Entra sends it: emails[type eq "work"].value eq "ann@example.com"
      this.#at += 1;
      const part = this.#expression(this.#word("an attribute"));
      return { kind: "values", path, filter: { kind: "and", terms: [filter, part] } };
    }
    return this.#expression(path);
  }

  /** What follows an attribute: an operator, and the value it compares with. */
  #expression(path: string): Filter {
    const operator = this.#word("an operator").toLowerCase();
    if (operator === "pr") return { kind: "present", path };
    if (!operators.has(operator)) {
      this.#at -= 1;
      throw this.#unexpected("an operator");
    }
    return { kind: "compare", path, operator: operator as Operator, value: this.#value() };
  }

  #group(depth: number, inside: boolean): Filter {
    this.#take("(");
    const filter = this.#or(depth + 1, inside);
    this.#take(")");
    return filter;
  }

  #value(): CompareValue {
    const token = this.#next;
    const literal = token.kind === "word" ? literals[token.text.toLowerCase()] : undefined;
    if (token.kind !== "value" && literal === undefined) throw this.#unexpected("a value");
    this.#at += 1;
    return token.kind === "value" ? token.value : (literal as CompareValue);
  }
}

/** Reads a filter. @throws {FilterSyntaxError} when it does not follow the grammar */
export function parseFilter(text: string): Filter {
  return new Parser(text).filter();
}

/** Reads the path of a PATCH operation. @throws {FilterSyntaxError} when it does not follow the grammar */
export function parsePath(text: string): ValuePath {
  return new Parser(text).path();
}
