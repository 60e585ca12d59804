import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import { jwtContext, rootContext } from "./roots.ts";

/** Private keys of trust domains. */
export const SEALED = [
  sealedColumn({
    table: "spiffe_roots",
    column: "private_key",
    key: { org_uuid: "uuid" },
    context: (row) => rootContext(String(row["org_uuid"])),
  }),
  sealedColumn({
    table: "spiffe_roots",
    column: "jwt_private_key",
    key: { org_uuid: "uuid" },
    reads: ["jwt_key_id"],
    context: (row) => jwtContext(String(row["jwt_key_id"])),
  }),
];
