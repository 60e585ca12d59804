import { Credential } from "../../../gen/atrium/options/v1/options_pb.ts";
import type { Caller } from "../../platform/caller.ts";
import { errors, ServiceError } from "../../platform/errors.ts";
import type { Call } from "../call.ts";
import type { ClientCertificate } from "../mtls/client-certificate.ts";
import type { Policy } from "../policy.ts";
import type { Authenticators } from "./authenticators.ts";

/** Whether callers of an rpc are always authenticated by a token. */
export function takesCredential({ credential }: Policy): boolean {
  return credential === Credential.BEARER || credential === Credential.SCIM;
}

/** Whether a public rpc accepts the bearer token of a caller who sends one. */
export function takesOptionalBearer(policy: Policy): boolean {
  return policy.bearerOptional && !takesCredential(policy);
}

/**
 * Returns the caller of the credential that an rpc takes.
 * @throws {unauthorized} when the credential is missing or not valid
 */
export function verifyCredential(authenticators: Authenticators, policy: Policy, call: Call): Promise<Caller> {
  const certificate = certificateInstead(policy, call);
  if (certificate !== undefined) return certificateCaller(authenticators, certificate, call);
  const token = bearerToken(call.request.headers.authorization);
  return policy.credential === Credential.SCIM
    ? authenticators.scim(token, call.info)
    : authenticators.bearer(token, call.info);
}

/**
 * Returns the present caller of the credential of an open stream; undefined where the rpc takes none.
 * @throws {unauthorized} when the credential is no longer valid
 */
export async function recheckCredential(
  authenticators: Authenticators,
  policy: Policy,
  call: Call,
): Promise<Caller | undefined> {
  if (!takesCredential(policy)) return undefined;
  const certificate = certificateInstead(policy, call);
  if (certificate !== undefined) return authenticators.recheckSvid(await certificate.svid());
  if (policy.credential === Credential.SCIM) return verifyCredential(authenticators, policy, call);
  return authenticators.recheck(bearerToken(call.request.headers.authorization));
}

/** Names the credential of a call: calls with the same name have the same credential. */
export function credentialName(policy: Policy, call: Call): string | ClientCertificate {
  return certificateInstead(policy, call) ?? `${policy.credential} ${call.request.headers.authorization ?? ""}`;
}

/** The client certificate where it is the credential: a bearer, when sent, is the only one (decisions 7.6). */
function certificateInstead({ credential }: Policy, call: Call): ClientCertificate | undefined {
  if (call.certificate === undefined || credential !== Credential.BEARER) return undefined;
  return call.request.headers.authorization === undefined ? call.certificate : undefined;
}

async function certificateCaller(
  authenticators: Authenticators,
  certificate: ClientCertificate,
  { info }: Call,
): Promise<Caller> {
  const svid = certificate.svid();
  return authenticators.svid(svid instanceof Promise ? await svid : svid, info);
}

/** Returns the caller of an optional bearer token; a token that is not valid counts as none. */
export async function verifyOptionalBearer(authenticators: Authenticators, call: Call): Promise<Caller | undefined> {
  try {
    return await authenticators.bearer(bearerToken(call.header("authorization")), call.info);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== 401) throw error;
    return undefined;
  }
}

/**
 * Returns the token of `Authorization: Bearer`. Its form is checked by those who verify it.
 * @throws {unauthorized} for any other value of the header
 */
function bearerToken(header: string | undefined): string {
  if (header === undefined || header.length < 8 || header.slice(0, 7).toLowerCase() !== "bearer ")
    throw errors.unauthorized();
  const token = header.slice(7).trim();
  if (token === "" || token.includes(" ")) throw errors.unauthorized();
  return token;
}
