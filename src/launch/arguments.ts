import { parseArgs } from "node:util";
import { StartError } from "../platform/start-error.ts";
import type { Role } from "../app/app.ts";
import { version } from "../app/version.ts";
import { FAILED } from "../cli/output.ts";
import type { VaultCall } from "../cli/vault.ts";
import type { WorkloadAgentOptions } from "../cli/workload-agent/index.ts";
import { HELP } from "./help.ts";

/** What the command line asks for. */
export type Command =
  | { run: Role | "migrate" | "status" | "rewrap"; fakePayments?: true }
  | { print: string }
  | { resetPassword: string }
  | { verify: { file: string; jwks: string } }
  | { vault: VaultCall | { action: "split" } }
  | { workloadAgent: WorkloadAgentOptions };

type Options = Partial<Record<"jwks" | "url" | "token-file" | "server" | "ca-file" | "socket", string>>;

/** The command line is not one of the program's. */
export class UsageError extends StartError {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

const RUN_ROLES = ["all", "serve", "worker", "migrate", "status", "rewrap"] as const;
const ROLES = [...RUN_ROLES, "reset-password", "verify-audit", "vault", "workload-agent"] as const;

/** Commands whose exit code 1 is an answer, or that name another one for errors. */
const OWN_EXIT_CODES: ReadonlySet<string> = new Set(["verify-audit", "vault", "workload-agent"]);

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
  jwks: { type: "string" },
  url: { type: "string" },
  "token-file": { type: "string" },
  server: { type: "string" },
  "ca-file": { type: "string" },
  socket: { type: "string" },
  "fake-payments": { type: "boolean" },
} as const;

/**
 * Parses the command line, without the program's name.
 * @throws UsageError for an unknown role or option.
 */
export function readArguments(argv: readonly string[]): Command {
  const given = { args: [...argv], allowPositionals: true, options: OPTIONS };
  try {
    const { values, positionals } = parseArgs(given);
    const { help, version: isVersion, "fake-payments": fakePayments, ...options } = values;
    const [name = "all", ...rest] = positionals;
    const role = readRole(name);
    if (help === true) return { print: helpOf(role) };
    if (isVersion === true) return { print: `${version()}\n` };
    if (fakePayments === true && role !== "all") throw new Error("--fake-payments belongs to the role all");
    if (role === "reset-password") return readResetPassword(rest, options);
    if (role === "verify-audit") return readVerifyAudit(rest, options);
    if (role === "vault") return readVault(rest, options);
    if (role === "workload-agent") return readWorkloadAgent(rest, options);
    required(role, options, []);
    if (rest.length > 0) throw new Error(`${role} takes no argument`);
    return { run: role, ...(fakePayments === true && { fakePayments }) };
  } catch (error) {
    const [problem] = (error as Error).message.split(". ");
    const [role = ""] = parseArgs({ ...given, strict: false }).positionals;
    throw new UsageError(`${problem}; see --help.`, OWN_EXIT_CODES.has(role) ? FAILED : 1);
  }
}

const helpOf = (role: (typeof ROLES)[number]): string =>
  Object.hasOwn(HELP, role) ? HELP[role as keyof typeof HELP] : HELP.all;

/** The given values of a command's options. @throws {Error} when one is missing, or another is given */
function required<N extends keyof Options>(command: string, options: Options, names: readonly N[]): Record<N, string> {
  const given = Object.keys(options);
  const other = given.find((name) => !(names as readonly string[]).includes(name));
  if (other !== undefined) throw new Error(`${command} takes no --${other}`);
  const missing = names.filter((name) => options[name] === undefined).map((name) => `--${name}`);
  if (missing.length > 0) throw new Error(`${command} needs ${missing.join(" and ")}`);
  return options as Record<N, string>;
}

function readResetPassword([email, ...more]: string[], options: Options): Command {
  if (email === undefined || more.length > 0) throw new Error("reset-password takes one EMAIL");
  required("reset-password", options, []);
  return { resetPassword: email };
}

function readVerifyAudit([file, ...more]: string[], { jwks, ...options }: Options): Command {
  if (file === undefined || more.length > 0 || jwks === undefined)
    throw new Error("verify-audit takes one FILE, and --jwks with the file or URL of the organization's key set");
  required("verify-audit", options, []);
  return { verify: { file, jwks } };
}

function readVault([action, ...more]: string[], options: Options): Command {
  if (more.length > 0) throw new Error("vault reads a key or share from standard input, never from an argument");
  switch (action) {
    case "split":
      required("vault split", options, []);
      return { vault: { action } };
    case "seal":
    case "unseal":
    case "status": {
      const { url, "token-file": tokenFile } = required(`vault ${action}`, options, ["url", "token-file"]);
      return { vault: { action, url, tokenFile } };
    }
    default:
      throw new Error("vault takes split, seal, unseal or status");
  }
}

function readWorkloadAgent(more: string[], options: Options): Command {
  if (more.length > 0) throw new Error("workload-agent takes options only");
  const names = ["server", "ca-file", "socket", "token-file"] as const;
  const { server, socket, "ca-file": caFile, "token-file": tokenFile } = required("workload-agent", options, names);
  return { workloadAgent: { server, caFile, socket, tokenFile } };
}

function readRole(text: string): (typeof ROLES)[number] {
  const found = ROLES.find((role) => role === text);
  if (found === undefined) throw new Error(`Unknown role ${text}; the roles are ${ROLES.join(", ")}`);
  return found;
}
