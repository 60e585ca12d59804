import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import { secretContext } from "./deps.ts";

/** Secrets that calls to publishers are signed with. */
export const SEALED = [
  sealedColumn({
    table: "apps",
    column: "webhook_secret",
    key: { app_id: "uuid" },
    context: (row) => secretContext(String(row["app_id"])),
  }),
];
