import pg from "pg";
import { QueryGroup } from "../../src/platform/db/patches/pg-query-group.ts";

/** A statement as it was sent. */
export interface Sent {
  text: string;
  values: readonly unknown[];
}

/** Records statements of connections opened from now on; `take` returns those since the last call. */
export function listenToStatements(): { take(): Sent[] } {
  let sent: Sent[] = [];
  const { query } = pg.Client.prototype;
  const note = ({ text, values }: { text?: string; values?: unknown }): void => {
    if (text === undefined || !/^\s*(?:select|with|insert|update|delete)\b/iu.test(text)) return;
    sent.push({ text, values: Array.isArray(values) ? values : [] });
  };
  const listening = function (this: pg.Client, ...args: unknown[]): unknown {
    const [first, second] = args;
    if (first instanceof QueryGroup) first.statements.forEach(note);
    else note(typeof first === "string" ? { text: first, values: second } : (first as object));
    return (query as (...all: unknown[]) => unknown).apply(this, args);
  };
  pg.Client.prototype.query = listening as unknown as typeof query;
  return {
    take() {
      const taken = sent;
      sent = [];
      return taken;
    },
  };
}

/** A node of a plan. */
interface Node {
  "Node Type": string;
  "Relation Name"?: string;
  "Plan Rows": number;
  Plans?: Node[];
}

/** Parts of a plan that grow with the tables: scans of a whole table, and sorts and hashes of most of one. */
function growing(node: Node, tables: ReadonlySet<string>, most: number): string[] {
  const { Plans: below = [], "Node Type": type, "Relation Name": relation = "" } = node;
  const found = below.flatMap((one) => growing(one, tables, most));
  if (type === "Seq Scan" && tables.has(relation)) found.push(`reads all of ${relation}`);
  const [input] = below;
  if ((type === "Sort" || type === "Incremental Sort") && input !== undefined && input["Plan Rows"] > most)
    found.push(`sorts ${input["Plan Rows"]} rows`);
  return found;
}

/**
 * What of a statement's plans grows with these tables, empty where nothing does: of the plan for these values, and of
 * the one for whatever values. Statements that come again are prepared, and the server decides which of the two it
 * takes then.
 */
export async function complaints(
  client: pg.Client,
  { text, values }: Sent,
  tables: ReadonlySet<string>,
  most: number,
): Promise<string[]> {
  const explain = async (options: string, given: readonly unknown[]): Promise<string[]> => {
    type Plans = { "QUERY PLAN": [{ Plan: Node }] };
    const { rows } = await client.query<Plans>(`explain (${options}) ${text}`, given as unknown[]);
    return growing((rows[0] as Plans)["QUERY PLAN"][0].Plan, tables, most);
  };
  const found = await explain("format json", values);
  if (values.length === 0) return found;
  return [
    ...found,
    ...(await explain("generic_plan, format json", [])).map((what) => `planned for any values ${what}`),
  ];
}
