/** Claims of a token: those of RFC 7519 §4.1, and the service's own. */
export interface Claims {
  iss?: string;
  sub?: string;
  aud?: string | string[];
  jti?: string;
  nbf?: number;
  exp?: number;
  iat?: number;
  [name: string]: unknown;
}

/** Who a token speaks for, and what it says they may do. */
export interface Caller {
  /** Id of the person; null for a key or an automation token. */
  userUuid: string | null;
  orgUuid: string;
  orgName: string;
  roles: readonly string[];
  /** Features of the organization's plan, and `app:<slug>` for its active installs. */
  entitlements: readonly string[];
  /** Ids of the apps that the caller administers. */
  appAdmin: readonly string[];
  platformAdmin: boolean;
  sandbox: boolean;
  /** Whether the token comes from a step-up. */
  elevated: boolean;
  /** Id of the session; undefined for a key or an automation token. */
  sessionId: string | undefined;
  /** The credential, where it is not a person's token. */
  principal: { type: string; id: string } | undefined;
  /**
   * Scopes in force, where the service was asked; undefined otherwise. An API key has the roles of its maker, and what
   * they allow only as far as its scopes say.
   */
  scopes: readonly string[] | undefined;
  /** All claims; empty for a key or an automation token. */
  claims: Claims;
  token: string;
}

const isString = (value: unknown): value is string => typeof value === "string";

function strings(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.every(isString) ? value : value.filter(isString);
}

/** The caller of a verified token. */
export function callerOf(token: string, claims: Claims): Caller {
  return {
    userUuid: claims.sub ?? null,
    orgUuid: String(claims["org"]),
    orgName: typeof claims.aud === "string" ? claims.aud : "",
    roles: strings(claims["roles"]),
    entitlements: strings(claims["entitlements"]),
    appAdmin: strings(claims["app_admin"]),
    platformAdmin: claims["platform_admin"] === true,
    sandbox: claims["sandbox"] === true,
    elevated: claims["acr"] === "elevated",
    sessionId: typeof claims["sid"] === "string" ? claims["sid"] : undefined,
    principal: undefined,
    scopes: undefined,
    claims,
    token,
  };
}
