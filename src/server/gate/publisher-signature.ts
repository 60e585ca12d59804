import { Credential } from "../../../gen/atrium/options/v1/options_pb.ts";
import { ServiceError } from "../../platform/errors.ts";
import { badSignature, signatureHeaders } from "../../platform/outgoing/signature.ts";
import type { Step } from "./step.ts";

/**
 * Refuses a callback without any signature header before its body is read. The handler verifies the signature, which
 * covers the body.
 */
export const publisherSignature: Step = {
  name: "publisher-signature",
  applies: (policy) => policy.credential === Credential.PUBLISHER_SIGNATURE,
  run(_policy, call) {
    if (signatureHeaders.every((name) => call.header(name) === undefined)) throw new ServiceError(badSignature);
  },
};
