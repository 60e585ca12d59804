import type { Clock } from "../../platform/clock.ts";
import { signJwt } from "../../platform/crypto/jwt.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import type { Access, Standing } from "../access/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import { fitClaims } from "./claim-size.ts";
import type { Truncated } from "./claim-size.ts";

/** Header `typ` of access tokens (RFC 9068). */
export const ACCESS_TOKEN_TYPE = "at+jwt";

/** Dependencies of {@link createTokens}. */
export interface TokensDeps {
  clock: Clock;
  random: Pick<Random, "uuid">;
  access: Pick<Access, "grants">;
  keys: { signing: Pick<Keys["signing"], "active"> };
  /** Claim `iss`: the public URL of the service. */
  issuer: string;
}

/** What a token contains besides the standing of its holder. */
export interface TokenRequest {
  standing: Standing;
  sessionId: string;
  /** How the session was opened (RFC 8176): `pwd`, `mail`, `otp`, `fed`, … */
  amr: readonly string[];
  /** When. */
  authTime: Date;
  /** Lifetime, milliseconds. */
  ttlMs: number;
  /** The token is issued by a step-up. */
  elevated?: boolean;
}

/** An access token. */
export interface Minted {
  accessToken: string;
  /** Lifetime, seconds. */
  expiresIn: number;
  expiresAt: Date;
}

/** Claims of an access token. */
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
  /** Client the token was issued to (RFC 9068 §2.2). */
  client_id: string;
  /** Version of the membership: a change of role invalidates older tokens. */
  mv: number;
  /**
   * Issue time by the database's clock, milliseconds: an app's key rotation voids what was issued before it, on every
   * instance.
   */
  ims: number;
  /** Lists that are shortened, so that the token fits into a header: the service reads the rest from the database. */
  truncated?: Truncated;
}

/** `client_id` of tokens from the service's own sign-ins. */
const OWN_CLIENT = "atrium";

/**
 * Creates the issuer of access tokens (decisions 3.1): JWTs signed by the active key of the organization, or the
 * instance.
 */
export function createTokens({ clock, random, access, keys, issuer }: TokensDeps) {
  const minter = {
    /** Issues a token for a person's present standing. */
    mint: (tx: Tx, request: TokenRequest): Promise<Minted> => minter.mintLater(tx, request)(),

    /** Sends what the token needs; the function it returns may be called after the transaction, and signs the token. */
    mintLater(tx: Tx, request: TokenRequest): () => Promise<Minted> {
      const { standing } = request;
      const iat = Math.floor(clock.now() / 1000);
      const expiresIn = Math.floor(request.ttlMs / 1000);
      const expiresAt = new Date((iat + expiresIn) * 1000);
      const key = keys.signing.active(tx, standing.org?.uuid ?? null, expiresAt);
      const read = Promise.all([access.grants(tx, standing), key]);
      read.catch(() => undefined);
      return async () => {
        const [grants, signer] = await read;
        const claims = fitClaims<AccessClaims>({
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
          client_id: OWN_CLIENT,
        });
        const accessToken = await signJwt(signer, ACCESS_TOKEN_TYPE, { ...claims });
        return { accessToken, expiresIn, expiresAt };
      };
    },
  };
  return minter;
}

/** Issuer of access tokens. */
export type Tokens = ReturnType<typeof createTokens>;
