import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { createLocalJWKSet, errors, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTPayload } from "jose";
import type { Trust } from "./trust.ts";

/** Types that a JWT-SVID may have, when it has one (JWT-SVID §2.3). They are compared with case. */
const TYPES: readonly unknown[] = [undefined, "JWT", "JOSE"];

/** Verifies a JWT-SVID of the trust domain. @throws ConnectError INVALID_ARGUMENT with the reason */
export async function validateJwtSvid(
  trust: Trust,
  audience: string,
  svid: string,
): Promise<{ spiffeId: string; claims: JsonObject }> {
  if (audience === "" || svid === "") throw invalid("an audience and a JWT-SVID are required");
  const payload = await verify(trust, audience, svid);
  const spiffeId = String(payload.sub);
  if (!spiffeId.startsWith(`${trust.trustDomain}/`)) throw notValid("its subject is of another trust domain");
  return { spiffeId, claims: payload as JsonObject };
}

async function verify(trust: Trust, audience: string, svid: string): Promise<JWTPayload> {
  const { keys: published } = JSON.parse(trust.jwks) as JSONWebKeySet;
  // RFC 7517 has no use "jwt-svid": the library would leave such keys out.
  const keys = createLocalJWKSet({ keys: published.map(({ use: _, ...key }) => key) });
  const verified = await jwtVerify(svid, keys, {
    audience,
    algorithms: ["ES256"],
    requiredClaims: ["exp", "sub"],
  }).catch((error: unknown) => {
    throw notValid(reasonOf(error));
  });
  if (!TYPES.includes(verified.protectedHeader.typ)) throw notValid("its type (typ) is neither JWT nor JOSE");
  return verified.payload;
}

/** The reason in words of our own: the library's text may change with its version. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (error instanceof errors.JWTClaimValidationFailed) return reasonOfClaim(error);
  if (error instanceof errors.JOSEAlgNotAllowed) return "its algorithm (alg) is not ES256";
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return "its key (kid) is not one of the trust domain";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "its signature is wrong";
  return "it is not a signed JWT in compact form";
}

function reasonOfClaim({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (reason === "missing") return `its claim ${claim} is missing`;
  if (claim === "aud") return "it is for another audience";
  return claim === "nbf" && reason === "check_failed" ? "it is not valid yet" : `its claim ${claim} is wrong`;
}

const invalid = (message: string): ConnectError => new ConnectError(message, Code.InvalidArgument);

const notValid = (reason: string): ConnectError => invalid(`the JWT-SVID is not valid: ${reason}`);
