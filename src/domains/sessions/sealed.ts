import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import { sealContext } from "./refresh.ts";

/** Successors of used refresh tokens, which a retry receives again. */
export const SEALED = [
  sealedColumn({
    table: "refresh_tokens",
    column: "successor",
    key: { hash: "bytea" },
    context: ({ hash }) => sealContext(hash as Buffer),
  }),
];
