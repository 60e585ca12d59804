/** What a kind of identity provider needs: where its values are found, and what its discovery URL is made of. */
export interface Preset {
  provider: string;
  label: string;
  /** What a person knows of their provider; the discovery URL is made of it. */
  parts: readonly { label: string; placeholder: string }[];
  discoveryUrl: (...parts: readonly string[]) => string;
  /** Where the redirect URI goes at the provider. */
  redirectUriGoesTo: string;
  /** Where client id and secret are found. */
  credentials: string;
  /** What else has to be known. */
  note?: string;
}

const WELL_KNOWN = "/.well-known/openid-configuration";

const host = (text = ""): string =>
  text
    .trim()
    .replace(/^https?:\/\//u, "")
    .replace(/\/.*$/u, "");

/** The values that docs/oidc.md says to paste. */
export const PRESETS: readonly Preset[] = [
  {
    provider: "okta",
    label: "Okta",
    parts: [{ label: "Okta domain", placeholder: "example.okta.com" }],
    discoveryUrl: (domain) => `https://${host(domain)}${WELL_KNOWN}`,
    redirectUriGoesTo: "Sign-in redirect URIs",
    credentials: "General, Client Credentials",
    note: "A custom authorization server has the path /oauth2/{server} before /.well-known.",
  },
  {
    provider: "entra",
    label: "Microsoft Entra ID",
    parts: [{ label: "Tenant id", placeholder: "00000000-0000-0000-0000-000000000000" }],
    discoveryUrl: (tenant = "") => `https://login.microsoftonline.com/${tenant.trim()}/v2.0${WELL_KNOWN}`,
    redirectUriGoesTo: "Authentication, Redirect URIs",
    credentials: "Application (client) ID; Certificates & secrets, the secret's value",
    note:
      "Entra sends no verified address: every sign-in ends in domain_mismatch. Put a broker that verifies addresses, " +
      "such as Keycloak, between, and connect the broker.",
  },
  {
    provider: "google",
    label: "Google",
    parts: [],
    discoveryUrl: () => `https://accounts.google.com${WELL_KNOWN}`,
    redirectUriGoesTo: "Authorized redirect URIs",
    credentials: "Client ID, Client secret",
    note: "Set the audience to Internal, and list the domains of your Workspace as allowed domains.",
  },
  {
    provider: "keycloak",
    label: "Keycloak",
    parts: [
      { label: "Host", placeholder: "login.example.com" },
      { label: "Realm", placeholder: "staff" },
    ],
    discoveryUrl: (name, realm = "") => `https://${host(name)}/realms/${encodeURIComponent(realm.trim())}${WELL_KNOWN}`,
    redirectUriGoesTo: "Valid redirect URIs",
    credentials: "Client ID; Credentials, with Client authentication on",
    note: "Leave Standard flow on, set the PKCE method to S256. People need Email verified on.",
  },
  {
    provider: "other",
    label: "Other",
    parts: [],
    discoveryUrl: () => "",
    redirectUriGoesTo: "the redirect URIs of the client",
    credentials: "the client's registration",
  },
];

/** What a failed sign-in means, and what helps, by the code of its event. */
const FAILURES: Readonly<Record<string, string>> = {
  domain_mismatch: "The provider sent no verified address, or one of a domain that is not allowed.",
  forbidden: "The person is not an active member.",
  invalid_connection: "The connection was deleted meanwhile.",
  invalid_state: "The sign-in took over 10 minutes, or came back in another browser.",
  link_required: "The address belongs to somebody who has to link it first, after signing in another way.",
  missing_code: "The provider sent the browser back without a code.",
  provider_error: "The provider refused, or cannot be reached. Test the connection.",
  token_exchange_failed: "The client secret or the redirect URI is wrong, or the ID token does not verify.",
  sso_required: "Single sign-on is required, and another way was tried.",
};

/** The cause of a failed sign-in in words. */
export const failureWords = (code: string): string => FAILURES[code] ?? `The sign-in was refused (${code}).`;

/** `a.test, b.test` → its entries. */
export const entries = (text: string): string[] => text.split(/[\s,]+/u).filter((entry) => entry !== "");
