import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import { sealContext } from "./otp.ts";

/** Keys of one-time codes. */
export const SEALED = [
  sealedColumn({
    table: "one_time_codes",
    column: "key",
    // `app_uuid` may be null, which has no place in an order; hashes differ, as their keys do.
    key: { email_key: "text", hash: "bytea" },
    context: (row) => sealContext(String(row["email_key"])),
  }),
];
