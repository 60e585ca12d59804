import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { StartError } from "../platform/start-error.ts";
import type { Role } from "../app/app.ts";

/** What the command line asks for. */
export type Command =
  | { run: Role | "migrate" | "status" }
  | { print: string }
  | { resetPassword: string }
  | { verify: { file: string; jwks: string } };

const HELP = `Atrium: identity, access, marketplace and billing for multi-tenant SaaS

Usage: npm start [-- ROLE]       or: node src/main.ts [ROLE]

  all       everything in one process (default)
  serve     the API: REST, Connect, gRPC and gRPC-Web on one port
  worker    background work: outbox and Temporal workflows
  migrate   bring the database up to date, then exit
  status    what is stuck in a running service, and why: outbox, deliveries,
            installs, database, Temporal; exits 1 when something is stuck
  reset-password EMAIL
            print a link with which that person sets a new password, once;
            for a lost first password, or a person without a mailbox
  verify-audit FILE --jwks FILE|URL
            verify an exported audit log (NDJSON or JSON) without the service;
            exits 0 when it is valid, 1 when it is not, 2 on an error

  --help, --version

Settings are environment variables; docs/configuration.md lists them. Without
any, the development profile runs its own PostgreSQL and Temporal in .atrium.
`;

/**
 * Parses the command line, without the program's name.
 * @throws StartError for an unknown role or option.
 */
export function readArguments(argv: readonly string[]): Command {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        help: { type: "boolean", short: "h" },
        version: { type: "boolean", short: "v" },
        jwks: { type: "string" },
      },
    });
    if (values.help === true) return { print: HELP };
    if (values.version === true) return { print: `${version()}\n` };
    const [role = "all", ...rest] = positionals;
    if (role === "reset-password") return readResetPassword(rest);
    if (role === "verify-audit") return readVerifyAudit(rest, values.jwks);
    if (values.jwks === undefined && rest.length === 0 && isRole(role)) return { run: role };
    throw new Error(`Unknown role ${positionals.join(" ")}`);
  } catch (error) {
    const [problem] = (error as Error).message.split(". ");
    const roles = "all, serve, worker, migrate, status, reset-password and verify-audit";
    throw new StartError(`${problem}; the roles are ${roles}, see --help.`);
  }
}

function readResetPassword([email, ...more]: string[]): Command {
  if (email === undefined || more.length > 0) throw new Error("reset-password takes one EMAIL");
  return { resetPassword: email };
}

function readVerifyAudit([file, ...more]: string[], jwks: string | undefined): Command {
  if (file === undefined || more.length > 0 || jwks === undefined)
    throw new Error("verify-audit takes one FILE, and --jwks with the file or URL of the organization's key set");
  return { verify: { file, jwks } };
}

function isRole(text: string): text is Role | "migrate" | "status" {
  return ["all", "serve", "worker", "migrate", "status"].includes(text);
}

/** The program's version, from package.json. */
export function version(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
