import { Builder } from "flatbuffers";
import type { InviteAcceptance } from "../../../gen/atrium/login/v1/login_pb.ts";
import { InviteRegistration } from "../../../gen/fbs/invite-registration.ts";

/** Media type of the binary response to an accepted invitation (decisions 12). */
export const FLATBUFFERS = "application/x-flatbuffers";

/**
 * The binary response: a finished buffer with the file identifier `IREG`. It has no members for the request for the
 * second factor, which is JSON text; its handler sets that content type.
 */
export function encodeInviteRegistration(data: InviteAcceptance): Uint8Array | string {
  if (data.mfaRequired === true) return JSON.stringify({ data: { mfa_required: true, mfa_token: data.mfaToken } });
  const builder = new Builder(512);
  const text = (value: string | undefined): number => builder.createString(value ?? "");
  const root = InviteRegistration.createInviteRegistration(
    builder,
    text(data.userUuid),
    text(data.orgUuid),
    text(data.role),
    text(data.accessToken),
    text(data.refreshToken),
    text(data.tokenType),
    data.expiresIn ?? 0,
    text(data.message),
  );
  InviteRegistration.finishInviteRegistrationBuffer(builder, root);
  return builder.asUint8Array();
}
