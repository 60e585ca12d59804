import { createClient } from "@connectrpc/connect";
import { renderUnicodeCompact } from "uqr";
import { AuthEventsService } from "../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { LoginService } from "../../gen/atrium/login/v1/login_pb.ts";
import { MfaService } from "../../gen/atrium/mfa/v1/mfa_pb.ts";
import { SessionsService } from "../../gen/atrium/sessions/v1/sessions_pb.ts";
import { StepUpService } from "../../gen/atrium/step_up/v1/step_up_pb.ts";
import { UsersService } from "../../gen/atrium/users/v1/users_pb.ts";
import { generate } from "otplib";
import type { Tour } from "./tour.ts";

const PASSWORD = "correct horse battery staple";

/**
 * A colleague is invited, adds a second factor, signs in with it; the owner steps up, ends every other session, and
 * proves the log.
 * @returns the owner's elevated token
 */
export async function tourIdentity({
  baseUrl,
  orgUuid,
  orgName,
  ownerEmail,
  ownerToken,
  mark,
  connect,
  mailedToken,
  say,
}: Tour): Promise<string> {
  const started = Date.now();
  const email = `bo+${mark}@orbit.test`;
  await createClient(UsersService, connect(ownerToken)).createInvitation({ orgUuid, email, roleId: 3 });
  say(`12. ${ownerEmail} invites ${email} as employee; the invitation is in the mailbox`);
  const { data } = await createClient(LoginService, connect()).acceptInvite({
    token: await mailedToken(email, started),
    firstName: "Bo",
    lastName: "Larsen",
    username: `bo-${mark}`,
    password: PASSWORD,
  });
  say(`    accepted: role ${data?.role}, signed in for ${data?.expiresIn} s`);

  const mfa = createClient(MfaService, connect(data?.accessToken));
  const factor = (await mfa.createFactor({ factorType: "totp", label: "phone" })).data;
  const code = renderUnicodeCompact(factor?.otpauthUri ?? "").replace(/^/gm, "    ");
  say(`13. Bo scans a TOTP secret with an authenticator app:\n${code}`);
  const secret = factor?.secret ?? "";
  const now = Math.floor(Date.now() / 1000);
  await mfa.verifyFactor({ id: factor?.id ?? 0, code: await generate({ secret, epoch: now }) });
  const { data: codes } = await mfa.regenerateRecoveryCodes({});
  say(`    the factor is active; ${codes?.codes.length} recovery codes are shown once`);

  const first = await createClient(LoginService, connect()).login({ email, password: PASSWORD, orgName });
  if (first.mfaRequired !== true) throw new Error("the second factor was not asked for");
  // A code is accepted once: that of the next step is within the window of one step.
  const pair = await createClient(MfaService, connect()).challengeTotp({
    mfaToken: first.mfaToken ?? "",
    code: await generate({ secret, epoch: now + 30 }),
  });
  say(`14. Bo's next login requires the second factor; with the code it returns a token for ${pair.expiresIn} s`);

  const stepUp = createClient(StepUpService, connect(ownerToken));
  const asked = Date.now();
  const challenge = await stepUp.createChallenge({ method: "magic_link" });
  const elevated = await stepUp.verifyChallenge({
    challengeId: challenge.challengeId,
    token: await mailedToken(ownerEmail, asked),
  });
  say(`15. ${ownerEmail} steps up by a mailed link: an elevated token for ${elevated.expiresIn} s`);
  const { revoked } = await createClient(SessionsService, connect(elevated.elevatedToken)).revokeOrganizationSessions({
    orgUuid,
    excludeCurrent: true,
  });
  const after = await fetch(`${baseUrl}/api/auth/me`, { headers: { authorization: `Bearer ${pair.accessToken}` } });
  say(`16. and ends the ${revoked} other sessions of ${orgName}: Bo's next request is ${after.status}`);
  if (after.status !== 401) throw new Error(`a token answered ${after.status} after its session was ended`);

  const verified = await createClient(AuthEventsService, connect(ownerToken)).verifyAuditEvents({ orgUuid });
  const signedBy = `chained and signed by ${verified.head?.kid.slice(0, 8)}…`;
  const verdict = verified.valid ? "valid" : "NOT VALID";
  say(`17. The audit log of ${orgName}: ${verified.events} events, ${signedBy}, ${verdict}`);
  return elevated.elevatedToken;
}
