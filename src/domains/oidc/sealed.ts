import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import { stateContext } from "./authorize.ts";
import { secretContext } from "./connections.ts";

/** Client secrets of connections, and what a sign-in that is under way must remember. */
export const SEALED = [
  sealedColumn({
    table: "oidc_connections",
    column: "client_secret",
    key: { uuid: "uuid" },
    context: (row) => secretContext(String(row["uuid"])),
  }),
  sealedColumn({
    table: "oidc_states",
    column: "secrets",
    key: { hash: "bytea" },
    context: (row) => stateContext(row["hash"] as Buffer),
  }),
];
