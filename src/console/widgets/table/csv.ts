/** A cell of CSV (RFC 4180). What a spreadsheet would run as a formula gets an apostrophe before it. */
export function csvCell(value: string | number | boolean | undefined): string {
  const text = String(value ?? "");
  const safe = /^[=+\-@\t\r]/u.test(text) && typeof value === "string" ? `'${text}` : text;
  return /[",\r\n]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A row of CSV with its end of line. */
export const csvRow = (cells: readonly (string | number | undefined)[]): string =>
  `${cells.map(csvCell).join(",")}\r\n`;

/** Saves a text as a file. */
export function download(name: string, type: string, ...parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
