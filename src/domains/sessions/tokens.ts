import type { Clock } from "../../platform/clock.ts";
import { signJwt } from "../../platform/crypto/jwt.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import type { Access, Standing } from "../access/index.ts";
import type { Keys } from "../keys/index.ts";

/** Header `typ` of access tokens (RFC 9068). */
export const accessTokenType = "at+jwt";

/** What access tokens are made of. */
export interface TokensDeps {
  clock: Clock;
  random: Pick<Random, "uuid">;
  access: Pick<Access, "grants">;
  keys: { signing: Pick<Keys["signing"], "active"> };
  /** Claim `iss`: the public URL of the service. */
  issuer: string;
}

/** What a token says besides what its holder is. */
export interface TokenRequest {
  standing: Standing;
  sessionId: string;
  /** How the session was opened (RFC 8176): `pwd`, `mail`, `otp`, `fed`, … */
  amr: readonly string[];
  /** When. */
  authTime: Date;
  /** Lifetime, milliseconds. */
  ttlMs: number;
  /** The token of a step-up. */
  elevated?: boolean;
}

/** Claims of an access token as `mint` makes them. */
export interface AccessClaims {
  sub: string;
  /** Organization; empty for a token without one. */
  org: string;
  /** Name of the organization; empty likewise. */
  aud: string;
  scope: string[];
  iss: string;
  jti: string;
  iat: number;
  exp: number;
  roles: string[];
  entitlements: string[];
  app_admin: string[];
  platform_admin: boolean;
  sandbox: boolean;
  sid: string;
  amr: string[];
  auth_time: number;
  acr?: "elevated";
  /** Version of the membership: a change of role makes older tokens void. */
  mv: number;
  /** Issue time in milliseconds: an app's key rotation voids what was issued before it, to the millisecond. */
  ims: number;
}

/** Makes access tokens (decisions 3.1): JWTs by the organization's active key, or the instance's. */
export function createTokens({ clock, random, access, keys, issuer }: TokensDeps) {
  return {
    /** A token of what somebody is now. */
    async mint(tx: Tx, request: TokenRequest): Promise<{ accessToken: string; expiresIn: number; expiresAt: Date }> {
      const { standing } = request;
      const [grants, key] = await Promise.all([access.grants(tx, standing), keys.signing.active(tx, standing.org?.uuid ?? null)]);
      const ims = clock.now();
      const iat = Math.floor(ims / 1000);
      const expiresIn = Math.floor(request.ttlMs / 1000);
      const claims: AccessClaims = {
        sub: standing.userUuid,
        org: standing.org?.uuid ?? "",
        aud: standing.org?.name ?? "",
        scope: [],
        iss: issuer,
        jti: random.uuid(),
        iat,
        exp: iat + expiresIn,
        ...grants,
        sid: request.sessionId,
        amr: [...request.amr],
        auth_time: Math.floor(request.authTime.getTime() / 1000),
        ...(request.elevated === true ? { acr: "elevated" as const } : {}),
        mv: standing.org?.membershipVersion ?? 0,
        ims,
      };
      const accessToken = await signJwt(key, accessTokenType, { ...claims });
      return { accessToken, expiresIn, expiresAt: new Date(claims.exp * 1000) };
    },
  };
}

/** Making of access tokens. */
export type Tokens = ReturnType<typeof createTokens>;
