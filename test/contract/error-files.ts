import { services } from "../../gen/services.ts";
import { ERROR_CODES, errorEntries } from "../../src/platform/error-codes/index.ts";
import type { ErrorCode, ErrorEntry } from "../../src/platform/error-codes/index.ts";
import { compilePolicies } from "../../src/server/policy.ts";
import { errorCodesOf, PROTOCOL_CODES } from "../../src/server/rpc-errors.ts";

const codes = Object.keys(ERROR_CODES).sort() as ErrorCode[];

/** `gen/error-codes.ts`: every code as a union and as a list, for clients. */
export function errorCodesFile(): string {
  return `// Generated from src/platform/error-codes by \`npm run generate\`; do not edit.

/** Every error code of the contract, sorted; docs/errors.md says what each means. */
export const errorCodes = [
${codes.map((code) => `  "${code}",\n`).join("")}] as const;

/** An error code of the contract. */
export type ErrorCode = (typeof errorCodes)[number];
`;
}

/** Which rpcs name a code. */
function rpcsByCode(): Map<ErrorCode, string[]> {
  const found = new Map<ErrorCode, string[]>(codes.map((code) => [code, []]));
  for (const policy of compilePolicies(services).values()) {
    const name = `${policy.method.parent.name}.${policy.method.name}`;
    for (const code of errorCodesOf(policy)) found.get(code)?.push(name);
  }
  return found;
}

/** With more rpcs than this, the document gives their number in place of their names. */
const MOST_NAMES = 24;

function sentFrom(code: ErrorCode, rpcs: readonly string[], all: number): string {
  if (PROTOCOL_CODES.includes(code)) return "Any rpc, because of the protocol alone.";
  if (errorEntries.get(code)?.meaning.startsWith("Reserved: ") === true) return "Nothing.";
  if (rpcs.length === 0) return "Requests that reach no rpc.";
  if (rpcs.length === all) return "Any rpc.";
  if (rpcs.length > MOST_NAMES) return `${rpcs.length} of ${all} rpcs; see \`x-atrium-errors\` in the reference.`;
  return rpcs.map((name) => `\`${name}\``).join(", ");
}

function section(code: ErrorCode, rpcs: readonly string[], all: number): string {
  const { status, meaning, why, remedy } = errorEntries.get(code) as ErrorEntry;
  return `### ${code}

${meaning}

| | |
| --- | --- |
| status | ${status.join(", ")} |
| why | ${why} |
| what to do | ${remedy} |
| sent by | ${sentFrom(code, rpcs, all)} |
`;
}

/** `docs/errors.md`: meaning, status, cause and remedy of every code. */
export function errorsDocument(): string {
  const rpcs = rpcsByCode();
  const all = services.flatMap(({ methods }) => methods).length;
  const sections = codes.map((code) => section(code, rpcs.get(code) ?? [], all));
  return `# Errors

<!-- Generated from src/platform/error-codes and the contract by \`npm run generate\`; do not edit. -->

An error over REST is one JSON object that reads as a Connect error and as an RFC 9457 problem: \`code\` is stable and
made for programs, \`message\` is made for people and may change. Over Connect, gRPC and gRPC-Web the same code is the
\`reason\` of a \`google.rpc.ErrorInfo\` detail, in upper case, with the domain \`atrium\`. Every rpc names its codes in
the contract.

## Codes

${sections.join("\n")}`;
}
