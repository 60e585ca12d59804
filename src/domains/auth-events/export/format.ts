import type { ExportedEvent, ExportSummary } from "../../../audit-proof/index.ts";

/**
 * A file format: `open`, then a `row` for each event, then `close`. One that has a summary gets it as `last` with the
 * final event.
 */
export interface ExportFormat {
  contentType: string;
  extension: string;
  open: string;
  hasSummary: boolean;
  row(event: ExportedEvent, first: boolean, last: ExportSummary | undefined): string;
  close(summary: ExportSummary): string;
}

const columns = [
  "event_id",
  "type",
  "outcome",
  "user_uuid",
  "org_uuid",
  "ip_address",
  "user_agent",
  "metadata",
  "created_at",
  "actor",
  "resource_type",
  "resource_id",
] as const;

/** One object; each event on a line of its own. */
const json: ExportFormat = {
  contentType: "application/json",
  extension: "json",
  open: '{"data":[\n',
  hasSummary: true,
  row: (event, first) => `${first ? "" : ",\n"}${line(event)}`,
  close: ({ total, from, to, head }) => `\n],${JSON.stringify({ total, from, to, head }).slice(1)}\n`,
};

/** One event a line; the last has the summary as a further member, `export`. */
const ndjson: ExportFormat = {
  contentType: "application/x-ndjson",
  extension: "ndjson",
  open: "",
  hasSummary: true,
  row: (event, _first, last) => `${line(last === undefined ? event : { ...event, export: last })}\n`,
  close: () => "",
};

/** RFC 4180, without the chain. */
const csv: ExportFormat = {
  contentType: "text/csv; charset=utf-8",
  extension: "csv",
  open: `${columns.join(",")}\r\n`,
  hasSummary: false,
  row: (event) => `${columns.map((name) => cell(event[name])).join(",")}\r\n`,
  close: () => "",
};

/** By the name in `format`. */
export const exportFormats: Readonly<Record<string, ExportFormat>> = { json, ndjson, csv };

/** The names by media type. */
export const formatOfMedia: Readonly<Record<string, string>> = {
  "application/json": "json",
  "application/x-ndjson": "ndjson",
  "text/csv": "csv",
};

/** JSON on one line, also for readers that treat U+2028 and U+2029 as line ends. */
function line(value: object): string {
  return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

/** A cell: null is empty, an object is its JSON text; a quote keeps spreadsheets from reading it as a formula. */
function cell(value: unknown): string {
  const text = value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const escaped = /^[=+\-@\t\r]/u.test(text) ? `'${text}` : text;
  return /[",\r\n]/u.test(escaped) ? `"${escaped.replaceAll('"', '""')}"` : escaped;
}
