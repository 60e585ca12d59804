import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import { contextOf } from "./chain/heads.ts";

const NO_ORGANIZATION = "00000000-0000-0000-0000-000000000000";

/** Heads of the hash chains, as sealed statements of this service. */
export const SEALED = [
  sealedColumn({
    table: "audit_heads",
    column: "seal",
    key: { org_key: "uuid" },
    context: (row) => contextOf(row["org_key"] === NO_ORGANIZATION ? null : String(row["org_key"])),
  }),
];
