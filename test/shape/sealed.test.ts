import { afterAll, beforeAll, expect, it } from "vitest";
import { SEALED_COLUMNS } from "../../src/app/rewrap.ts";
import { pageOfBoxes, replaceBoxes } from "../../src/platform/crypto/rewrap-store.ts";
import { openTestDatabase } from "../support/database.ts";
import { codeOf, filesBelow, textOf } from "./sources.ts";

/** Columns of bytes that rewrap does not move, and what they have. */
const OTHERS: Readonly<Record<string, string>> = {
  "audit_heads.signature": "a signature by a signing key",
  "pictures.image": "an image",
  "spiffe_roots.key_id": "a public identifier",
  "vault_versions.value": "sealed with a key of the version's own",
  "vault_versions.wrapped_key": "sealed with the organization's key, which rewrap leaves as it is",
};
/** Files that seal what is never stored: clients hold it for at most an hour. */
const NEVER_STORED: readonly string[] = ["src/platform/cursors.ts"];
/** Hashes, identifiers, certificates and revocation lists are not sealed. */
const isPublic = (name: string): boolean => /(?:hash|fingerprint|certificate|\.(?:id|der|list))$/u.test(name);

let database: Awaited<ReturnType<typeof openTestDatabase>>;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const names = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`);

it("every column of bytes is in a list of sealed columns, or known to be sealed by nothing", async () => {
  const rows = await database.prepared<{ name: string }>(
    "bytes",
    `select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = 'public' and udt_name in ('bytea', '_bytea') order by 1`,
    [],
  );
  const elsewhere = SEALED_COLUMNS.filter(({ inside }) => inside !== undefined).map(
    (one) => `${one.table}.${one.column}`,
  );
  const found = rows.map(({ name }) => name).filter((name) => !isPublic(name));
  expect(found.toSorted()).toEqual(
    [...names.filter((name) => !elsewhere.includes(name)), ...Object.keys(OTHERS)].toSorted(),
  );
  expect(new Set(names).size).toBe(names.length);
});

it.each(SEALED_COLUMNS)("rewrap reads and replaces values of $table.$column", async (column) => {
  await database.transaction(async (tx) => {
    expect(await pageOfBoxes(tx, column, undefined, 10)).toBeInstanceOf(Array);
    const sample = { boolean: true, uuid: crypto.randomUUID(), bytea: Buffer.of(1) };
    const key = Object.values(column.key).map((type) => (sample as Record<string, unknown>)[type] ?? "1");
    expect(await pageOfBoxes(tx, column, key, 10)).toBeInstanceOf(Array);
    const box = Buffer.of(0);
    expect(await replaceBoxes(tx, column, [{ key, box, fresh: box, row: {} }])).toBe(0);
  });
});

it("whoever seals a value lists its column", () => {
  const faults = filesBelow("src").filter((file) => {
    if (NEVER_STORED.includes(file) || !/\b(?:sealer|master)\.seal\(/u.test(codeOf(file))) return false;
    const domain = /^src\/domains\/[a-z-]+\//u.exec(file)?.[0];
    return !(domain === undefined ? codeOf(file) : textOf(`${domain}domain.ts`)).match(
      /sealedColumn\(|sealed: SEALED/u,
    );
  });
  expect(faults).toEqual([]);
});
