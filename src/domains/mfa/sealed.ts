import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import { recoveryContext, secretContext } from "./codes.ts";

/** Secrets of factors, and the keys of recovery codes. */
export const SEALED = [
  sealedColumn({
    table: "mfa_factors",
    column: "secret",
    key: { id: "integer" },
    reads: ["user_uuid"],
    context: (row) => secretContext(String(row["user_uuid"])),
  }),
  sealedColumn({
    table: "mfa_recovery_keys",
    column: "key",
    key: { user_uuid: "uuid" },
    context: (row) => recoveryContext(String(row["user_uuid"])),
  }),
];
