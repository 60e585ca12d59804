import { defineErrors } from "../../platform/errors.ts";

/** Errors of the vault (interface, Errors; decisions 7.2 and 7.3). */
export const vaultErrors = defineErrors({
  badIfMatch: [400, "bad_request", 'If-Match is a version such as "3", or *.'],
  unsealFailed: [
    400,
    "unseal_failed",
    "This is not the key of the vault, or not a set of its shares; enter all again.",
  ],
  secretNotFound: [404, "secret_not_found", "No such secret."],
  versionConflict: [409, "version_conflict", "Another version is the present one; read the secret and try again."],
  notDeleted: [409, "conflict", "The secret is not deleted."],
  sealed: [423, "vault_sealed", "The vault is sealed; an operator has to unseal it."],
});
