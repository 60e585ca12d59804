/** A cell of CSV (RFC 4180). What a spreadsheet would run as a formula gets an apostrophe before it. */
export function csvCell(value: string | number | boolean | undefined): string {
  const text = String(value ?? "");
  const safe = /^[=+\-@\t\r]/u.test(text) && typeof value === "string" ? `'${text}` : text;
  return /[",\r\n]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvOf(headers: readonly string[], rows: readonly (readonly (string | number | undefined)[])[]): string {
  return [headers, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** Saves a text as a file. */
export function download(name: string, type: string, ...parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
