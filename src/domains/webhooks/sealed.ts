import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import type { SealedRow } from "../../platform/crypto/sealed-column.ts";
import { secretContext } from "./deps.ts";

const SECRET = {
  table: "webhooks",
  key: { webhook_id: "uuid" },
  context: (row: SealedRow) => secretContext(String(row["webhook_id"])),
};

/** Signing secrets, present and replaced ones. */
export const SEALED = [
  sealedColumn({ ...SECRET, column: "secret" }),
  sealedColumn({ ...SECRET, column: "old_secret" }),
];
