import type { Credential } from "./credential.ts";

/** An access token, or a function that returns the present one. */
export function bearer(token: string | (() => string | undefined | Promise<string | undefined>)): Credential {
  return { token: () => (typeof token === "string" ? token : token()) };
}

/** An API key, an automation token or a SCIM token: a secret that is valid until it expires or is revoked. */
export function apiKey(secret: string): Credential {
  return { token: () => secret };
}

/** The client certificate of the connection: for a transport of `@atrium/client/node` that has one. */
export function svid(): Credential {
  return { token: () => undefined, byConnection: true };
}
