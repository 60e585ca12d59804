import { settings, serviceUrl } from "../settings.ts";

/** What the start of a single sign-on leaves for its end. It opens nothing without the token of the redirect. */
interface Started {
  verifier: string;
  state: string;
  next?: string | undefined;
  name: string;
}

const KEY = "atrium.oidc";

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/u, "");

/**
 * Sends the browser to the provider of a connection (PKCE, RFC 7636).
 * @throws DOMException where storage is full or not permitted
 */
export async function startConnection(uuid: string, name: string, next: string | undefined): Promise<void> {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const state = base64url(crypto.getRandomValues(new Uint8Array(16)));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  sessionStorage.setItem(KEY, JSON.stringify({ verifier, state, next, name } satisfies Started));
  const query = new URLSearchParams({
    redirect_uri: settings.baseUrl,
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  });
  location.assign(`${serviceUrl}/api/auth/oidc/${uuid}/authorize?${query.toString()}`);
}

function takeStarted(): string | null {
  try {
    const text = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    return text;
  } catch {
    return null;
  }
}

/** What a redirect of the service brought to the start page. */
export interface Returned {
  sessionToken?: string;
  codeVerifier?: string;
  next?: string | undefined;
  name: string;
  /** Why it failed, in words. */
  error?: string;
}

/** Takes the end of a single sign-on out of the address; undefined where there is none. */
export function takeReturn(): Returned | undefined {
  const query = new URLSearchParams(location.search);
  const sessionToken = query.get("session_token");
  const error = query.get("error");
  if (sessionToken === null && error === null) return undefined;
  history.replaceState(history.state, "", location.pathname);
  const text = takeStarted();
  const started = text === null ? undefined : (JSON.parse(text) as Started);
  const name = started?.name ?? "the provider";
  // The text of the address may be anybody's: it is not shown.
  if (error !== null) return { name, error: "The sign-in was refused. Start again." };
  // A redirect that this tab did not ask for is somebody else's sign-in.
  if (started === undefined || started.state !== query.get("state"))
    return { name, error: "This sign-in was not started here. Start again." };
  return { name, sessionToken: sessionToken ?? "", codeVerifier: started.verifier, next: started.next };
}
