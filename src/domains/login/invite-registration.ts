import { Builder } from "flatbuffers";
import type { InviteAcceptance } from "../../../gen/atrium/login/v1/login_pb.ts";
import { InviteRegistration } from "../../../gen/fbs/invite-registration.ts";

/** Media type of the binary answer to an accepted invitation (decisions 12). */
export const FLATBUFFERS = "application/x-flatbuffers";

/**
 * The binary answer: a finished buffer with the file identifier `IREG`. The call for the second factor, which it has
 * no members for, is JSON text instead; its handler labels it so.
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
