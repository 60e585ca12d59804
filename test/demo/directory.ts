import { createClient } from "@connectrpc/connect";
import { CredentialsService } from "../../gen/atrium/credentials/v1/credentials_pb.ts";
import { OidcService } from "../../gen/atrium/oidc/v1/oidc_pb.ts";
import { startOpenidProvider } from "../oidc/openid-provider.ts";
import type { Tour } from "./tour.ts";

const json = { "content-type": "application/json" };

/** A person signs in by the organization's own identity provider, and its directory deprovisions them. */
export async function tourDirectory({
  baseUrl,
  orgUuid,
  orgName,
  ownerToken,
  mark,
  connect,
  say,
}: Tour): Promise<void> {
  const provider = await startOpenidProvider({ url: baseUrl });
  try {
    const { connectionUuid, redirectUri } = await createClient(OidcService, connect(ownerToken)).createConnection({
      orgUuid,
      name: "Corporate",
      provider: "oidc-provider",
      clientId: "atrium-client",
      clientSecret: "a-client-secret",
      discoveryUrl: provider.discoveryUrl,
      allowedDomains: ["corp.test"],
      redirectUris: [`${baseUrl}/`],
    });
    await provider.register(redirectUri);
    say(`23. ${orgName} connects its identity provider, ${new URL(provider.discoveryUrl).origin}`);

    const here = (url: string): string => new URL(new URL(url).pathname + new URL(url).search, baseUrl).href;
    const begun = await fetch(`${baseUrl}/api/auth/oidc/${connectionUuid}/authorize`, { redirect: "manual" });
    const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? "";
    const query = await provider.browser().signIn(begun.headers.get("location") ?? "", `cleo-${mark}`);
    const callback = here(`${redirectUri}?${new URLSearchParams(query).toString()}`);
    const returned = await fetch(callback, { redirect: "manual", headers: { cookie } });
    const sessionToken = new URL(returned.headers.get("location") ?? "").searchParams.get("session_token");
    const exchanged = await fetch(`${baseUrl}/api/auth/oidc/session`, {
      method: "POST",
      headers: { ...json, cookie },
      body: JSON.stringify({ session_token: sessionToken }),
    });
    const { access_token: token } = (await exchanged.json()) as { access_token: string };
    const me = (): Promise<Response> =>
      fetch(`${baseUrl}/api/auth/me`, { headers: { authorization: `Bearer ${token}` } });
    const { email, roles } = (await (await me()).json()) as { email: string; roles: string[] };
    say(`24. ${email} signs in there and is a member here, as ${roles.join(", ")}`);

    const credentials = createClient(CredentialsService, connect(ownerToken));
    const { token: scimToken } = await credentials.createScimToken({ orgUuid, name: "directory" });
    const directory = async (method: string, path: string): Promise<Response> => {
      const headers = { authorization: `Bearer ${scimToken}` };
      return fetch(`${baseUrl}/scim/v2/organizations/${orgUuid}/Users${path}`, { method, headers });
    };
    const filter = new URLSearchParams({ filter: `userName eq "${email}"` }).toString();
    const found = (await (await directory("GET", `?${filter}`)).json()) as { Resources: { id: string }[] };
    say(`25. The directory finds ${found.Resources.length} user with this name by SCIM, and deprovisions them`);
    const deleted = await directory("DELETE", `/${found.Resources[0]?.id}`);
    const { status } = await me();
    if (deleted.status !== 204 || status !== 401) throw new Error(`deprovisioning: ${deleted.status}, then ${status}`);
    say(`    ${deleted.status}; their next request is ${status}`);
  } finally {
    await provider.close();
  }
}
