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
  /** With `analyze`. */
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  "Startup Cost": number;
  "Total Cost": number;
  Plans?: Node[];
}

/** What plans show: every table that they read, and what of them grows with the seeded tables. */
export interface Findings {
  tables: string[];
  complaints: string[];
}

/** Parts of a plan that grow with the tables: scans of a whole table, and sorts of more rows than `most`. */
function growing(node: Node, tables: ReadonlySet<string>, most: number): string[] {
  const { Plans: below = [], "Node Type": type, "Relation Name": relation = "" } = node;
  const found = below.flatMap((one) => growing(one, tables, most));
  if (type === "Seq Scan" && tables.has(relation)) found.push(`reads all of ${relation}`);
  const [input] = below;
  if (type !== "Sort" && type !== "Incremental Sort") return found;
  // An incremental sort sorts the rows of one value of its first columns, which is what it costs to start.
  const share = type === "Sort" ? 1 : node["Startup Cost"] / node["Total Cost"];
  const sorted = Math.round((input?.["Plan Rows"] ?? 0) * share);
  if (sorted > most) found.push(`sorts ${sorted} rows`);
  return found;
}

/** Tables of a plan. */
function tablesOf({ Plans: below = [], "Relation Name": relation }: Node): string[] {
  return [...(relation === undefined ? [] : [relation]), ...below.flatMap(tablesOf)];
}

type Plans = { "QUERY PLAN": [{ Plan: Node }] };

/** Whether a statement only reads: it may be executed again. */
export const isReading = ({ text }: Sent): boolean => !/\b(?:insert|update|delete|share)\b/iu.test(text);

/** A scan of a table, and how many rows it read. */
interface Scan {
  table: string;
  rows: number;
}

/** Executes a statement and returns its scans. */
export async function scansOf(client: pg.Client, { text, values }: Sent): Promise<Scan[]> {
  const scans: Scan[] = [];
  const count = (node: Node): void => {
    const { "Relation Name": table, "Actual Loops": loops = 0, "Actual Rows": rows = 0, Plans: below = [] } = node;
    const passed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
    if (table !== undefined) scans.push({ table, rows: Math.round(loops * (rows + passed)) });
    below.forEach(count);
  };
  const { rows } = await client.query<Plans>(`explain (analyze, timing off, format json) ${text}`, values as unknown[]);
  count((rows[0] as Plans)["QUERY PLAN"][0].Plan);
  return scans;
}

/**
 * What a statement's plans read, and what of them grows with these tables, empty where nothing does: of the plan for
 * these values, and of the one for whatever values. Statements that come again are prepared, and the server decides
 * which of the two it takes then.
 */
export async function explain(
  client: pg.Client,
  { text, values }: Sent,
  tables: ReadonlySet<string>,
  most: number,
): Promise<Findings> {
  const planned = async (options: string, given: readonly unknown[]): Promise<Findings> => {
    const { rows } = await client.query<Plans>(`explain (${options}) ${text}`, given as unknown[]);
    const plan = (rows[0] as Plans)["QUERY PLAN"][0].Plan;
    return { tables: tablesOf(plan), complaints: growing(plan, tables, most) };
  };
  const found = await planned("format json", values);
  if (values.length === 0) return found;
  const generic = await planned("generic_plan, format json", []);
  return {
    tables: [...found.tables, ...generic.tables],
    complaints: [...found.complaints, ...generic.complaints.map((what) => `planned for any values ${what}`)],
  };
}
