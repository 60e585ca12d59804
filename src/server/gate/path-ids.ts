import { Credential } from "../../../gen/atrium/options/v1/options_pb.ts";
import { errors, ServiceError } from "../../platform/errors.ts";
import type { FieldViolation } from "../../platform/errors.ts";
import { badSignature } from "../../platform/outgoing/signature.ts";
import type { Step } from "./step.ts";

/** Refuses malformed ids in the path: `invalid_uuid` where one of them is a UUID, else `validation_error`. */
export const pathIds: Step = {
  name: "path-ids",
  applies: (policy) => policy.pathFields.length > 0,
  run(policy, _call, params) {
    let uuid = false;
    let violations: FieldViolation[] | undefined;
    for (const field of policy.pathFields) {
      const value = params.text(field);
      if (value === undefined || (value === "" && !field.always)) continue;
      const fault = value === "" ? { code: "required", message: "is required" } : field.check?.(value);
      if (fault === undefined) continue;
      (violations ??= []).push({ field: field.name, ...fault });
      uuid ||= field.uuid;
    }
    if (violations === undefined) return;
    // Nothing has a malformed id, so there is no secret that could have made the signature.
    if (policy.credential === Credential.PUBLISHER_SIGNATURE) throw new ServiceError(badSignature);
    throw uuid ? errors.invalidUuid({ fields: violations }) : errors.validation({ fields: violations });
  },
};
