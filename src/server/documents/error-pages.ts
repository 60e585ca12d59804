import { errorEntries, isErrorCode } from "../../platform/error-codes/index.ts";
import type { ErrorCode, ErrorEntry } from "../../platform/error-codes/index.ts";
import { ServiceError, errorRow } from "../../platform/errors.ts";
import { escapeHtml } from "../../platform/html.ts";
import type { Policy } from "../policy.ts";
import { printError } from "../print.ts";
import { errorCodesOf } from "../rpc-errors.ts";

/** What a document says about one error code. */
export interface ErrorFacts extends ErrorEntry {
  code: ErrorCode;
  /** Rpcs that refuse with it, as `atrium.login.v1.LoginService/Login`; empty for codes of the protocol alone. */
  rpcs: readonly string[];
  /** The body of such an error over REST. */
  example: string;
}

const URN = "urn:atrium:error:";

/** Returns what is known about a code, which may be given as the `type` of an error; undefined for other codes. */
export function createErrorFacts(policies: Iterable<Policy>): (code: string) => ErrorFacts | undefined {
  const rpcs = new Map<string, string[]>();
  for (const policy of policies) {
    for (const code of errorCodesOf(policy)) rpcs.set(code, [...(rpcs.get(code) ?? []), policy.rpc]);
  }
  return (name) => {
    const code = name.startsWith(URN) ? name.slice(URN.length) : name;
    const entry = errorEntries.get(code);
    if (entry === undefined || !isErrorCode(code)) return undefined;
    return { ...entry, code, rpcs: rpcs.get(code) ?? [], example: exampleOf(code, entry) };
  };
}

function exampleOf(code: ErrorCode, { status, meaning }: ErrorEntry): string {
  const { body } = printError(new ServiceError(errorRow(status[0], code, meaning)), {
    requestId: "582e12a1-1913-4885-a4d3-000000000006",
    url: "/api/auth/me",
    accept: undefined,
    scim: false,
  });
  return JSON.stringify(JSON.parse(body as string), undefined, 2);
}

/** With more rpcs than this, the page gives their number alone. */
const MOST_NAMES = 60;

/** The page of one code, without its frame. */
export function errorBody({ code, status, meaning, why, remedy, rpcs, example }: ErrorFacts): string {
  const names = rpcs.map((rpc) => `<li><code>${rpc}</code></li>`).join("");
  const sentBy =
    rpcs.length === 0
      ? "Any request, because of the protocol alone."
      : rpcs.length > MOST_NAMES
        ? `${rpcs.length} rpcs; the reference lists the errors of each.`
        : `<ul>${names}</ul>`;
  return `<h1>${code}</h1><p>${escapeHtml(meaning)}</p><dl><dt>Status</dt><dd>${status.join(", ")}</dd>
<dt>Why</dt><dd>${escapeHtml(why)}</dd><dt>What to do</dt><dd>${escapeHtml(remedy)}</dd><dt>Sent by</dt><dd>${sentBy}</dd></dl>
<h2>Example</h2><pre><code>${escapeHtml(example)}</code></pre>`;
}

/** The list of all codes, without its frame. */
export function errorsBody(): string {
  const rows = [...errorEntries]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([code, { status, meaning }]) =>
        `<tr><td><a href="errors/${code}"><code>${code}</code></a></td><td>${status.join(", ")}</td><td>${escapeHtml(meaning)}</td></tr>`,
    );
  return `<h1>Errors</h1><p>Every error has a stable <code>code</code>. Its page says what to do.</p>
<table><thead><tr><th>Code</th><th>Status</th><th>Meaning</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}
