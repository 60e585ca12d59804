import { callRest } from "../../support/app.ts";
import type { Serving } from "../baselines/serve.ts";
import { CLIENT } from "../openid.ts";
import { cpuSeconds } from "../processes.ts";
import type { Helper } from "../processes.ts";
import { HOST, organizationOf } from "../seeded-people.ts";
import type { Service } from "../service.ts";
import type { RatioRow, Side } from "./row.ts";

/** Logins for each second of a round; a round takes as long as these take. */
const perSecond = 300;
const inFlight = 16;

async function connect(service: Service, issuer: string): Promise<string> {
  const path = `/api/admin/organizations/${organizationOf(service, HOST)}/oidc-connections`;
  const { status, text, body } = await callRest(`http://127.0.0.1:${service.port}`, "POST", path, {
    token: service.tokens[HOST],
    body: {
      name: "Corporate",
      provider: "bench",
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      discovery_url: `${issuer}/.well-known/openid-configuration`,
      allowed_domains: ["corp.test"],
      redirect_uris: ["http://client.test/back"],
    },
  });
  if (status !== 201) throw new Error(`POST ${path} answered ${status}: ${text}`);
  return body.connection_uuid as string;
}

/** Processor time of a process, milliseconds for each login; the sign-ins are begun before. */
function cpuOfLogins(name: string, pid: number, logins: Helper<object>): Side {
  return {
    name,
    async measure(seconds) {
      const count = Math.ceil(seconds * perSecond);
      await logins.ask({ begin: count });
      const before = cpuSeconds(pid);
      await logins.ask({ complete: inFlight });
      const after = cpuSeconds(pid);
      if (before === undefined || after === undefined) throw new Error("needs /proc to read processor time");
      return { value: ((after - before) * 1000) / count };
    },
  };
}

/**
 * What a login costs the service's process: the callback with the code exchange and the checks of the ID token, and the
 * exchange of the session token for a session. The other side is the code exchange with the same checks and no more: no
 * server, no state, no session. Both ask the same provider, which is another process.
 */
export const oidcLogins: RatioRow = {
  kind: "ratio",
  name: "oidc-login",
  title: "OIDC login, callback and exchange, against openid-client's code exchange alone: processor time",
  unit: "ms",
  target: 2.5,
  at: "most",
  async sides(environment) {
    const provider = await environment.peer<Serving>("baselines/openid-provider.ts");
    const address = `127.0.0.1:${provider.ready.port}`;
    const issuer = `http://${address}`;
    const service = await environment.serviceOn("oidc", {
      seededPeople: { people: 2, sessions: 2 },
      env: { SERVICE_OUTGOING_ALLOW: address },
    });
    const logins = await environment.peer<object>("load/oidc-logins.ts", {
      PORT: String(service.port),
      CONNECTION: await connect(service, issuer),
      ISSUER: issuer,
    });
    const grants = await environment.server<object>("baselines/openid-code-grants.ts", { ISSUER: issuer });
    return [
      cpuOfLogins("Atrium, callback and exchange", service.pid, logins),
      cpuOfLogins("openid-client, code exchange", grants.pid, grants),
    ];
  },
};
