import { fetchOver } from "../mtls/client.ts";
import type { Presented } from "../mtls/client.ts";
import type { Fetch, TestApp } from "../support/app.ts";
import type { Somebody } from "../support/people.ts";
import type { Credential } from "./send.ts";
import { automationToken, done } from "./world.ts";

/** A service identity with its two credentials: an automation token, and an SVID that it got by the token. */
export interface Workload {
  id: string;
  identityId: string;
  token: string;
  svidId: string;
  /** Calls over mutual TLS with the SVID. */
  fetch: Fetch;
  presented: Presented;
}

/** A caller by a client certificate. */
export const bySvid = ({ fetch, presented }: Pick<Workload, "fetch" | "presented">): Credential => ({
  token: undefined,
  fetch,
  presented,
});

/** A new service identity with a role, by default admin. */
export async function workload(app: TestApp, by: Pick<Somebody, "token" | "org">, roleId = 1): Promise<Workload> {
  const automation = await automationToken(app, by, roleId);
  const { svidId, presented } = await ownSvid(app, automation.identityId, { token: automation.token });
  return { ...automation, svidId, presented, fetch: fetchOver(app, presented) };
}

/** An X.509-SVID that a service identity gets for itself. */
export async function ownSvid(
  app: TestApp,
  identityId: string,
  by: { token: string },
  ttlHours = 24,
): Promise<{ svidId: string; presented: Presented }> {
  const body = { service_identity_id: identityId, ttl_hours: ttlHours };
  const issued = done(await app.call("POST", "/api/auth/spiffe/svid", { ...by, body }));
  const { svid_id: svidId = "", certificate_pem: cert = "", private_key_pem: key = "" } = issued;
  return { svidId, presented: { cert, key } };
}
