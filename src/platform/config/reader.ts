import ipaddr from "ipaddr.js";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { HostPort } from "../outgoing/guard.ts";

/** Variables by name, like `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A secret as it was set; at most one of the two members is defined. */
export interface FoundSecret {
  value?: string;
  /** Both forms are set, or the file cannot be read or is empty. */
  problem?: string;
}

const MS_PER_UNIT: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const LONGEST_MS = 3_650 * 86_400_000;

/** `420s`, `15m`, `24h`, `7d` (and `250ms`) in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) return undefined;
  const ms = Number(match[1]) * MS_PER_UNIT[match[2]!]!;
  return ms <= LONGEST_MS ? ms : undefined;
}

function parseHostPort(text: string): HostPort | undefined {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s/@]+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port < 1 || port > 65_535) return undefined;
  return { host: match[1]!.replace(/^\[|\]$/g, "").toLowerCase(), port };
}

/**
 * A network as `address/bits`; a single address is a network of one. The short forms that ipaddr.js takes are refused:
 * `10/8` would be 0.0.0.10/8, another network than the one that was meant.
 */
function parseCidr(text: string): string | undefined {
  if (isIP(text.replace(/\/.*$/u, "")) === 0) return undefined;
  try {
    const [address, bits] = text.includes("/")
      ? ipaddr.parseCIDR(text)
      : [ipaddr.process(text), ipaddr.process(text).kind() === "ipv4" ? 32 : 128];
    return `${address.toString()}/${bits}`;
  } catch {
    return undefined;
  }
}

function parseUrl(text: string, schemes: readonly string[]): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && schemes.includes(url.protocol.slice(0, -1)) ? url : undefined;
}

/**
 * Reads variables one by one and collects the problems. Empty values count as unset. Messages never contain the values
 * of secrets.
 */
export class Reader {
  readonly problems: string[] = [];
  readonly #known = new Set<string>();
  readonly #env: Environment;
  readonly #secrets: ReadonlyMap<string, FoundSecret>;

  /** `secrets` were read before, from their variables or from the files that `<NAME>_FILE` names. */
  constructor(env: Environment, secrets: ReadonlyMap<string, FoundSecret> = new Map()) {
    this.#env = env;
    this.#secrets = secrets;
    for (const [name, { problem }] of secrets) {
      this.#known.add(`${name}_FILE`);
      if (problem !== undefined) this.problem(problem);
    }
  }

  problem(text: string): void {
    this.problems.push(text);
  }

  /** The trimmed text of a variable; undefined when unset. */
  text(name: string): string | undefined {
    this.#known.add(name);
    const value = (this.#secrets.get(name)?.value ?? this.#env[name])?.trim();
    return value === "" ? undefined : value;
  }

  /** Whether a variable is set, also by a file that cannot be read, which is a problem of its own. */
  isSet(name: string): boolean {
    return this.text(name) !== undefined || this.#secrets.get(name)?.problem !== undefined;
  }

  /** A value parsed by `parse`. `expected` completes the message "… is not". */
  parsed<T, D>(
    name: string,
    parse: (text: string) => T | undefined,
    expected: string,
    fallback: D,
    secret = false,
  ): T | D {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = parse(text);
    if (value !== undefined) return value;
    this.problem(secret ? `${name} is not ${expected}` : `${name}: ${JSON.stringify(text)} is not ${expected}`);
    return fallback;
  }

  /** The parsed items of a comma-separated list. */
  list<T>(
    name: string,
    parse: (text: string) => T | undefined,
    expected: string,
    fallback: readonly T[],
  ): readonly T[] {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const values: T[] = [];
    for (const part of text
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== "")) {
      const value = parse(part);
      if (value === undefined) this.problem(`${name}: ${JSON.stringify(part)} is not ${expected}`);
      else values.push(value);
    }
    return values;
  }

  duration(name: string, fallback: string, { zero = false } = {}): number {
    const read = (text: string): number | undefined => {
      const ms = parseDuration(text);
      return ms === 0 && !zero ? undefined : ms;
    };
    return this.parsed(name, read, "a duration such as 420s, 15m, 24h or 7d", parseDuration(fallback)!);
  }

  durations(name: string, fallback: string): readonly number[] {
    const found = this.list(name, parseDuration, "a duration such as 420s, 15m, 24h or 7d", []);
    return found.length > 0 ? found : fallback.split(",").map((one) => parseDuration(one)!);
  }

  port<D>(name: string, fallback: D): number | D {
    const read = (text: string) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined);
    return this.parsed(name, read, "a port from 0 to 65535", fallback);
  }

  flag<D extends boolean | undefined>(name: string, fallback: D): boolean | D {
    const words: Record<string, boolean> = { 1: true, on: true, true: true, 0: false, off: false, false: false };
    return this.parsed(name, (text) => words[text.toLowerCase()], "on or off (1 or 0)", fallback);
  }

  choice<const T extends string>(name: string, choices: readonly T[], fallback: T): T {
    return this.parsed(name, (text) => choices.find((one) => one === text), `one of ${choices.join(", ")}`, fallback);
  }

  url(name: string, schemes: readonly string[], options: { secret?: boolean } = {}): string | undefined {
    const starts = schemes.map((scheme) => `${scheme}://`).join(" or ");
    const hint = options.secret === true ? ", with special characters of a password percent-encoded" : "";
    const expected = `a URL that starts with ${starts}${hint}`;
    return this.parsed(
      name,
      (text) => (parseUrl(text, schemes) === undefined ? undefined : text),
      expected,
      undefined,
      options.secret,
    );
  }

  /** Origins as browsers send them: scheme, host, and port unless it is the scheme's default. */
  origins(name: string): readonly string[] | undefined {
    const read = (text: string): string | undefined => {
      const url = parseUrl(text, ["http", "https"]);
      return url !== undefined && url.href === `${url.origin}/` ? url.origin : undefined;
    };
    return this.text(name) === undefined
      ? undefined
      : this.list(name, read, "an origin such as https://app.example", []);
  }

  hostPort(name: string): string | undefined {
    return this.parsed(name, (text) => (parseHostPort(text) ? text : undefined), "host:port", undefined);
  }

  hostPorts(name: string): readonly HostPort[] {
    return this.list(name, parseHostPort, "host:port", []);
  }

  networks(name: string): readonly string[] {
    return this.list(name, parseCidr, "an address or a network such as 10.0.0.0/8", []);
  }

  /** 32 bytes in base64. */
  key(name: string): Buffer | undefined {
    const read = (text: string): Buffer | undefined => {
      const bytes = /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : undefined;
      return bytes?.length === 32 ? bytes : undefined;
    };
    return this.parsed(name, read, "32 bytes in base64 (make one with: openssl rand -base64 32)", undefined, true);
  }

  /** PEM text, given directly or as the path of a file. */
  pem(name: string): string | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (value.startsWith("-----BEGIN")) return value.replaceAll("\\n", "\n");
    try {
      const text = readFileSync(value, "utf8");
      if (text.includes("-----BEGIN")) return text;
      this.problem(`${name}: the file ${value} is not PEM`);
    } catch (error) {
      this.problem(
        `${name}: the file ${value} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`,
      );
    }
    return undefined;
  }

  /** Reports a problem when only some of these are set. @returns whether all have a value */
  allOrNone(...names: string[]): boolean {
    const missing = names.filter((name) => !this.isSet(name));
    if (missing.length > 0 && missing.length < names.length) {
      this.problem(`${names.join(" and ")} belong together; ${missing.join(" and ")} missing`);
    }
    return names.every((name) => this.text(name) !== undefined);
  }

  /** Reports variables with this prefix that nothing has read. */
  refuseUnknown(prefix: string): void {
    for (const name of Object.keys(this.#env).toSorted()) {
      if (name.startsWith(prefix) && !this.#known.has(name)) this.problem(`${name} is not a setting of this service`);
    }
  }
}
