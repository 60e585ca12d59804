import { sealedColumn } from "../../platform/crypto/sealed-column.ts";
import type { SealedColumn } from "../../platform/crypto/sealed-column.ts";
import { organizationKeyContext } from "./envelope.ts";
import { CHECK_CONTEXT, sharedContext } from "./master-keys.ts";
import { shareContext } from "./seal.ts";

const KEYRINGS: SealedColumn = {
  table: "vault_keyrings",
  column: "box",
  by: "master",
  key: { org_uuid: "uuid" },
  reads: ["key_id"],
  context: (row) => organizationKeyContext(String(row["org_uuid"]), String(row["key_id"])),
};

const MASTER_KEY_CHECK: SealedColumn = {
  table: "vault_seal",
  column: "key_check",
  by: "master",
  key: { only_row: "boolean" },
  context: () => CHECK_CONTEXT,
  isKeyCheck: true,
};

/** Keys of organizations, and what operators have entered to unseal the vault. */
export const SEALED = [
  KEYRINGS,
  MASTER_KEY_CHECK,
  sealedColumn({
    table: "vault_seal",
    column: "shared_key",
    key: { only_row: "boolean" },
    reads: ["epoch"],
    context: ({ epoch }) => sharedContext(Number(epoch)),
  }),
  sealedColumn({
    table: "vault_unseal_shares",
    column: "box",
    key: { x: "smallint" },
    context: ({ x }) => shareContext(Number(x)),
  }),
];
