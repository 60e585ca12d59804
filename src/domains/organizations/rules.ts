import { errors } from "../../platform/errors.ts";
import { foldName } from "../../platform/names.ts";

const control = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** An organization's name as it is kept and as it is compared. Throws `validation_error` for `name`. */
export function readName(name: string): { name: string; key: string } {
  const kept = name.normalize("NFC").trim();
  const key = foldName(kept);
  if (key === "") throw errors.validation({ fields: [{ field: "name", code: "required", message: "is required" }] });
  if (control.test(kept))
    throw errors.validation({
      fields: [{ field: "name", code: "pattern", message: "must not have control characters" }],
    });
  return { name: kept, key };
}
