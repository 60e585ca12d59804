import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/**
 * The folders of an organization's secrets in their order, read from the index alone: it includes the names because
 * PostgreSQL does not recognize that the expression has all that the query needs.
 */
export const foldersOfSecrets = defineConcurrentMigration("0123-folders-of-secrets", [
  {
    index: "vault_secrets_by_folder",
    on: `vault_secrets (org_uuid, split_part(name, '.', 1)) include (name)
      where deleted_at is null and strpos(name, '.') > 0`,
  },
]);
