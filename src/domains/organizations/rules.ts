import { errors } from "../../platform/errors.ts";
import { foldName, hasControlCharacters, isBlank } from "../../platform/names.ts";

/**
 * An organization's name as it is stored and as it is compared.
 * @throws {validation_error} for `name`
 */
export function readName(name: string): { name: string; key: string } {
  const stored = name.normalize("NFC").trim();
  const key = foldName(stored);
  if (isBlank(stored))
    throw errors.validation({ fields: [{ field: "name", code: "required", message: "is required" }] });
  if (hasControlCharacters(stored))
    throw errors.validation({
      fields: [{ field: "name", code: "pattern", message: "must not have control characters" }],
    });
  return { name: stored, key };
}

/** The plan that an organization keeps without a subscription, once a platform admin has set this one. */
export function planToKeep(plan: string): string | null {
  return plan === "free" ? null : plan;
}
