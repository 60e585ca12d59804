import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import { sealContext } from "./signing.ts";

/** Private keys. */
export const SEALED = [
  sealedColumn({
    table: "signing_keys",
    column: "private_key",
    key: { kid: "text" },
    context: ({ kid }) => sealContext(String(kid)),
  }),
];
