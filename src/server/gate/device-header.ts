import { errors } from "../../platform/errors.ts";
import type { Step } from "./step.ts";

/** Refuses an `X-Device-Uuid` that is not a UUID. */
export const deviceHeader: Step = {
  name: "device-header",
  applies: () => true,
  run(_policy, { info, request }) {
    if (info.deviceUuid !== undefined || request.headers["x-device-uuid"] === undefined) return;
    throw errors.validation({ fields: [{ field: "X-Device-Uuid", code: "format", message: "must be a UUID" }] });
  },
};
