import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import { keyContext } from "./signers.ts";

/** Private keys of certificate authorities. */
export const SEALED = [
  sealedColumn({
    table: "mtls_cas",
    column: "private_key",
    key: { ca_uuid: "uuid" },
    context: (row) => keyContext(String(row["ca_uuid"])),
  }),
];
