import { callRest } from "../../support/app.ts";
import { organizationOf } from "../seeded-people.ts";
import type { Service } from "../service.ts";
import type { RatioRow, Sample } from "./row.ts";

const inFlight = "16";

/** A service identity of the first organization with an automation token. */
async function identityOf(service: Service): Promise<{ IDENTITY: string; TOKEN: string }> {
  const path = `/api/organizations/${organizationOf(service, 0)}/service-identities`;
  const post = async (to: string, body: object): Promise<Record<string, string>> => {
    const url = `http://127.0.0.1:${service.port}`;
    const answer = await callRest(url, "POST", to, { token: service.tokens[0], body });
    if (answer.status !== 201) throw new Error(`${to} was answered ${answer.status}: ${answer.text}`);
    return answer.body as Record<string, string>;
  };
  const { identity_id: identity = "" } = await post(path, { name: `bench ${Date.now()}`, role_id: 3 });
  const { token = "" } = await post(`${path}/automation-token`, { name: "bench", identity_id: identity });
  return { IDENTITY: identity, TOKEN: token };
}

/** SVIDs that a workload gets for itself, each a transaction with its audit event. */
const issues: RatioRow = {
  kind: "ratio",
  name: "svid-issue",
  title: "SVIDs issued over gRPC, against a bare loop of a P-256 key, a leaf by @peculiar/x509 and one insert",
  unit: "1/s",
  target: 0.8,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const settings = { PORT: String(service.port), IN_FLIGHT: inFlight, ...(await identityOf(service)) };
    const ours = await environment.peer<object>("load/svid-issues.ts", settings);
    const bare = await environment.server<object>("baselines/bare-leaves.ts", {
      DATABASE: await environment.baselineDatabase(),
      IN_FLIGHT: inFlight,
    });
    return [
      { name: "Atrium, gRPC", measure: (seconds) => ours.ask<Sample>({ seconds }) },
      { name: "bare loop", measure: (seconds) => bare.ask<Sample>({ seconds }) },
    ];
  },
};

/** Rows about SPIFFE. */
export const spiffeRows = [issues] as const;
