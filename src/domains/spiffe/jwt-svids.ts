import { SignJWT } from "jose";
import { callerOrg, isServiceIdentity } from "../../platform/caller.ts";
import type { CallerContext } from "../../platform/context.ts";
import { errors } from "../../platform/errors.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import { identityErrors } from "../service-identities/index.ts";
import type { SpiffeDeps } from "./deps.ts";
import { demandMayObtain, isIdentity } from "./own-identity.ts";
import type { Roots } from "./roots.ts";
import type { TrustDomains } from "./trust-domain.ts";

/** A JWT-SVID to issue. */
export interface JwtSvidRequest {
  /** The caller's own when absent. */
  identityId: string | undefined;
  audience: string[];
  ttlSeconds: number | undefined;
}

/** A new JWT-SVID. */
export interface JwtSvid {
  svid: string;
  spiffeId: string;
  expiresAt: Date;
}

const DEFAULT_SECONDS = 300;

/** JWT-SVIDs of service identities (JWT-SVID, decisions 17.7). */
export function createJwtSvids(
  { clock, events, serviceIdentities: { identities } }: SpiffeDeps,
  { roots, trustDomains }: { roots: Pick<Roots, "signer">; trustDomains: TrustDomains },
) {
  return {
    /**
     * Issues a JWT-SVID.
     * @throws {validation_error} when neither the request nor the credential names an identity
     * @throws {not_found} when the organization has no such identity
     * @throws {forbidden} {step_up_required} when the caller may not obtain SVIDs of the identity, or its role goes
     * beyond their present power
     */
    async issue(context: CallerContext, { identityId: named, audience, ttlSeconds }: JwtSvidRequest): Promise<JwtSvid> {
      const { caller } = context;
      const orgUuid = callerOrg(caller);
      const identityId = named ?? (isServiceIdentity(caller) ? caller.principal.id : undefined);
      if (identityId === undefined)
        throw errors.validation({ fields: [{ field: "identity_id", code: "required", message: "is required" }] });
      demandMayObtain(caller, identityId);
      const { jwt } = await roots.signer(orgUuid);
      const spiffeId = trustDomains.idOfIdentity(orgUuid, identityId);
      const issuedAt = Math.floor(clock.now() / 1_000);
      const expiresAt = issuedAt + (ttlSeconds ?? DEFAULT_SECONDS);
      return context.transaction(async (tx) => {
        const identity = await identities.keep(tx, orgUuid, identityId);
        if (identity === undefined) throw identityErrors.notFound();
        if (!isIdentity(caller, identityId)) await identities.demandRole(tx, caller, orgUuid, identity.roleId);
        await events.emit(tx, EVENTS["svid.issued"], {
          by: causedBy(context),
          orgUuid,
          metadata: {
            spiffe_id: spiffeId,
            identity_id: identityId,
            audience,
            expires_at: new Date(expiresAt * 1_000).toISOString(),
            kind: "jwt",
          },
        });
        // No `iss`, and a `typ` that no verification of this service takes (decisions 17.7).
        const svid = await new SignJWT({ sub: spiffeId, aud: audience, iat: issuedAt, exp: expiresAt })
          .setProtectedHeader({ alg: "ES256", kid: jwt.keyId, typ: "JWT" })
          .sign(jwt.key);
        return { svid, spiffeId, expiresAt: new Date(expiresAt * 1_000) };
      });
    },
  };
}
