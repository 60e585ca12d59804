import { expect, test } from "vitest";
import { codeOf, filesBelow } from "./sources.ts";

/** Files whose batches wait for rows. */
const WAITING: Readonly<Record<string, string>> = {
  "src/domains/liveness/store.ts": "its rows are inserted and never locked",
};

const TEMPLATE = /`[^`]*`/gu;
const BATCH = /\bdelete from\b[^`]*\b(?:in|any) ?\(\s*(?:array\(\s*)?select\b[^`]*\blimit\b/u;

test("a statement that deletes a batch of rows skips locked ones: it never waits while it holds others", () => {
  const waiting = filesBelow("src")
    .filter((file) => !file.startsWith("src/migrations/"))
    .filter((file) =>
      [...codeOf(file).matchAll(TEMPLATE)].some(([sql]) => BATCH.test(sql) && !sql.includes("skip locked")),
    );
  expect(waiting).toEqual(Object.keys(WAITING));
});
