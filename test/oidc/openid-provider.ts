import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";
import type { AdapterConstructor, ClientMetadata, Configuration } from "oidc-provider";
import type { TestApp } from "../support/app.ts";

const MEMORY = "oidc-provider/lib/adapters/memory_adapter.js";

/** A certified OpenID provider (`oidc-provider`) on loopback, with one client. */
export interface OpenidProvider {
  discoveryUrl: string;
  /** Starts the provider with its client, once the connection exists. */
  register(redirectUri: string): Promise<void>;
  /** A browser, with a session of its own at the provider. */
  browser(): Browser;
  close(): Promise<void>;
}

/** A browser at the provider. */
export interface Browser {
  /** Signs `accountId` in at the provider: from the authorization URL to the query of the callback. */
  signIn(authorizationUrl: string, accountId: string): Promise<Record<string, string>>;
  /** Ends the session at the provider, which then tells its clients by back-channel logout. */
  signOut(): Promise<void>;
}

/** How a provider differs from one that leaves everything as it is. */
export interface ProviderSettings {
  /** Path of the issuer, such as `/realms/corp/`. */
  path?: string;
  /** Algorithm that signs its tokens. */
  alg?: string;
  /** Metadata of its client. */
  client?: Partial<ClientMetadata>;
  configuration?: Configuration;
}

/** Starts an HTTP server that becomes the provider. People are `name@corp.test`, with verified addresses. */
export async function startOpenidProvider(
  app: Pick<TestApp, "url">,
  { path = "", alg = "RS256", client = {}, configuration = {} }: ProviderSettings = {},
): Promise<OpenidProvider> {
  let listener: ((request: never, response: never) => unknown) | undefined;
  const server = createServer((request, response) => void listener?.(request as never, response as never));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [issuer, mount] = [`${origin}${path}`, path.replace(/\/$/u, "")];
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), alg, use: "sig" };

  async function register(redirectUri: string): Promise<void> {
    // As the package's default, which it warns of.
    const { createMemoryAdapter } = (await import(MEMORY)) as { createMemoryAdapter(skew: number): AdapterConstructor };
    const provider = new Provider(issuer, {
      adapter: createMemoryAdapter(0),
      ttl: { AccessToken: 600, Grant: 3_600, IdToken: 600, Interaction: 600, Session: 3_600 },
      clients: [
        {
          client_id: "atrium-client",
          client_secret: "a-client-secret",
          redirect_uris: [redirectUri],
          // The callback's neighbour; tests reach the service on its port, whatever its public URL says.
          backchannel_logout_uri: `${app.url}${new URL(redirectUri).pathname.replace(/callback$/u, "backchannel-logout")}`,
          backchannel_logout_session_required: true,
          id_token_signed_response_alg: alg as "RS256",
          ...client,
        },
      ],
      jwks: { keys: [jwk] },
      cookies: { keys: ["for tests"] },
      claims: { email: ["email", "email_verified"], profile: ["given_name", "family_name"] },
      ...configuration,
      features: {
        devInteractions: { enabled: false },
        backchannelLogout: { enabled: true },
        ...configuration.features,
      },
      interactions: { url: (_ctx, { uid }) => `${mount}/interaction/${uid}` },
      findAccount: (_ctx, sub) => ({
        accountId: sub,
        claims: () => ({
          sub,
          email: `${sub}@corp.test`,
          email_verified: true,
          given_name: "Given",
          family_name: "Family",
        }),
      }),
      async loadExistingGrant({ oidc }) {
        const accountId = oidc.session?.accountId;
        const grant = new oidc.provider.Grant({ clientId: "atrium-client", ...(accountId && { accountId }) });
        grant.addOIDCScope("openid email profile");
        await grant.save();
        return grant;
      },
      // The agent of the provider's own requests refuses loopback addresses, where the service under test is.
      fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as unknown as RequestInit),
    });
    const callback = provider.callback();
    listener = async (request: Parameters<typeof callback>[0], response: Parameters<typeof callback>[1]) => {
      const url = new URL(request.url ?? "/", origin);
      // As a router that the provider is mounted in.
      Object.assign(request, { originalUrl: request.url, url: (request.url ?? "/").slice(mount.length) });
      if (!url.pathname.startsWith(`${mount}/interaction/`)) return callback(request, response);
      const accountId = url.searchParams.get("as") ?? "";
      return provider.interactionFinished(request, response, { login: { accountId } });
    };
  }

  function browser(): Browser {
    const jar = new Map<string, string>();
    async function open(url: string, form?: Record<string, string>): Promise<Response> {
      const cookie = [...jar].map((pair) => pair.join("=")).join("; ");
      const response = await fetch(url, {
        redirect: "manual",
        headers: { cookie },
        ...(form !== undefined && { method: "POST", body: new URLSearchParams(form) }),
      });
      for (const line of response.headers.getSetCookie()) {
        const [pair = ""] = line.split(";");
        jar.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1));
      }
      return response;
    }
    return {
      async signIn(authorizationUrl, accountId) {
        let url = authorizationUrl;
        for (let hop = 0; hop < 10; hop++) {
          const location = (await open(url)).headers.get("location") ?? "";
          if (location === "") throw new Error(`the provider did not redirect from ${url}`);
          const next = new URL(location, url);
          if (next.origin !== origin) return Object.fromEntries(next.searchParams);
          if (next.pathname.startsWith(`${mount}/interaction/`)) next.searchParams.set("as", accountId);
          url = next.href;
        }
        throw new Error("the provider redirects without end");
      },
      async signOut() {
        const form = await (await open(`${origin}${mount}/session/end`)).text();
        const xsrf = /name="xsrf" value="([^"]+)"/u.exec(form)?.[1] ?? "";
        const { status } = await open(`${origin}${mount}/session/end/confirm`, { xsrf, logout: "yes" });
        if (status >= 400) throw new Error(`the provider's logout answered ${status}`);
      },
    };
  }

  return {
    discoveryUrl: `${origin}${mount}/.well-known/openid-configuration`,
    register,
    browser,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
