import type { ExportedEvent, ExportSummary } from "./chain.ts";
import { keysOf } from "./keys.ts";
import { createProof } from "./proof.ts";
import type { ProofResult } from "./proof.ts";

type LastEvent = ExportedEvent & { export?: ExportSummary };

/**
 * Verifies an export (NDJSON or JSON), given as pieces of text, with a JWK Set, without the service. An export as the
 * service writes it is read line by line, JSON in another layout as a whole.
 * @throws {Error} when the file is no export or the key set no JWK Set
 */
export async function verifyExport(texts: AsyncIterable<string>, jwks: unknown): Promise<ProofResult> {
  const proof = createProof(await keysOf(jwks));
  let summary: ExportSummary | undefined;
  let other: string[] | undefined;
  let number = 0;
  for await (const line of linesOf(texts)) {
    number++;
    if (other !== undefined) other.push(line);
    else if (number === 1 && isOtherLayout(line)) other = [line];
    else if (line.startsWith("],")) summary = parsed<ExportSummary>(`{${line.slice(2)}`, number);
    else if (line !== "" && line !== '{"data":[') {
      const event = parsed<LastEvent>(line.endsWith("},") ? line.slice(0, -1) : line, number);
      await proof.add(demandChain(event, number));
      if (event.export !== undefined) summary = event.export;
    }
  }
  if (other !== undefined) {
    const whole = parsed<ExportSummary & { data: ExportedEvent[] }>(other.join("\n"), 1);
    if (!Array.isArray(whole.data)) throw new Error("the file is not an export of audit events: it has no data");
    for (const [index, event] of whole.data.entries()) await proof.add(demandChain(event, index + 1));
    summary = whole;
  }
  if (number === 0) summary = { total: 0, from: null, to: null, head: null };
  return proof.end(summary);
}

/** Splits text at LF only: JSON may contain the other line ends that `node:readline` splits at. */
async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of texts) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/** Whether JSON has another layout than the service writes, or is all on one line. */
function isOtherLayout(line: string): boolean {
  return line !== '{"data":[' && /^\s*\{\s*("data"\s*:|$|"(?:total|from|to|head)"\s*:)/u.test(line);
}

function demandChain(event: ExportedEvent, number: number): ExportedEvent {
  if (
    typeof event !== "object" ||
    event === null ||
    typeof event.event_id !== "string" ||
    typeof event.hash !== "string" ||
    typeof event.sequence !== "number"
  ) {
    throw new Error(
      `entry ${number} is not an exported audit event with sequence and hash; verify NDJSON or JSON, CSV has no chain`,
    );
  }
  return event;
}

function parsed<T>(text: string, line: number): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new Error(`line ${line} is not JSON; verify NDJSON or JSON, CSV has no chain`);
  }
}
