import { defineErrors } from "../../platform/errors.ts";

/** Errors of signing keys (interface, Errors). */
export const keyErrors = defineErrors({
  orgNotFound: [404, "not_found", "No such organization."],
  invalidAlgorithm: [400, "invalid_algorithm", "The algorithm is not supported; use ed25519 or rsa4096."],
  notFound: [404, "key_not_found", "No such signing key."],
  active: [409, "active_key_exists", "The active key cannot be deleted; rotate first."],
  rotationInProgress: [
    422,
    "rotation_in_progress",
    "A rotation is under way until the previous key expires or is deleted.",
  ],
  tooMany: [409, "conflict", "The organization has 10 living keys; delete one first."],
  notActive: [409, "conflict", "Only the active key signs."],
});
