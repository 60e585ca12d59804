import type { Serving } from "../baselines/serve.ts";
import type { RequestSpec } from "../load/requests.ts";
import type { Environment } from "../environment.ts";
import { directories, fill } from "../scim-directories.ts";
import type { Directory } from "../scim-directories.ts";
import { SCIM_JSON, scimUser, scimUserName } from "../scim-users.ts";
import type { RatioRow, Side } from "./row.ts";

/** Directories, and users of each at the start, on both sides. */
const count = 16;
const users = 100;
const inFlight = 16;
/** Creates for each second of a round: more than either side makes. */
const perSecond = 2_000;

/** A scenario that both sides play. */
interface Scenario {
  name: string;
  title: string;
  /** The request of number `n` to a directory. */
  request(directory: Directory, n: number): RequestSpec;
  status: number;
  /** Each request is sent once. */
  once?: boolean;
}

const bearer = ({ token }: Directory): Record<string, string> => ({ authorization: `Bearer ${token}` });

const scenarios: readonly Scenario[] = [
  {
    name: "scim-list-better-auth",
    title: "SCIM lists of 100 users",
    request: (directory) => ({
      method: "GET",
      path: `${directory.base}/Users?startIndex=1&count=100`,
      headers: bearer(directory),
    }),
    status: 200,
  },
  {
    name: "scim-filter-better-auth",
    title: "SCIM users by userName eq",
    request(directory, n) {
      const filter = `userName eq "${scimUserName(directory.id, n % users)}"`;
      const path = `${directory.base}/Users?filter=${encodeURIComponent(filter)}`;
      return { method: "GET", path, headers: bearer(directory) };
    },
    status: 200,
  },
  {
    name: "scim-create-better-auth",
    title: "SCIM creates of users",
    request: (directory) => ({
      method: "POST",
      path: `${directory.base}/Users`,
      headers: { ...bearer(directory), ...SCIM_JSON },
      body: JSON.stringify(scimUser()),
    }),
    status: 201,
    once: true,
  },
];

/** One scenario at a server, over all its directories in turn. */
function side(
  environment: Environment,
  { name, port, pid }: { name: string; port: number; pid: number },
  all: readonly Directory[],
  { request, status, once = false }: Scenario,
): Side {
  const specs = (length: number): RequestSpec[] =>
    Array.from({ length }, (_, n) => request(all[n % all.length] as Directory, Math.floor(n / all.length)));
  const file = once ? undefined : environment.requests(specs(count * users));
  return {
    name,
    measure: (seconds) =>
      environment.load(
        {
          protocol: "http1",
          port,
          connections: inFlight,
          file: file ?? environment.requests(specs(Math.ceil(seconds * perSecond))),
          once,
          seconds,
          status,
          tools: false,
        },
        pid,
      ),
  };
}

/**
 * The scenarios at better-auth's SCIM package, which serves lists with an equality filter, and creates. Its SSO package
 * has no part in them: it serves none of these routes, and the SCIM package does without it.
 */
export const scimAgainstBetterAuth: readonly RatioRow[] = scenarios.map((scenario) => ({
  kind: "ratio",
  name: scenario.name,
  title: `${scenario.title}, against better-auth's`,
  unit: "req/s",
  target: 3,
  at: "least",
  async sides(environment) {
    const service = await environment.keptService("scim_peers", { seededPeople: { people: count, sessions: count } });
    const ours = await directories(service);
    await filled(service, () => fill(service, users));
    const { ready, pid } = await environment.server<Serving & { tokens: string[] }>("baselines/better-auth-scim.ts", {
      DATABASE: await environment.baselineDatabase(),
      CONNECTIONS: String(count),
      USERS: String(users),
    });
    const theirs = ready.tokens.map((token) => ({ id: token, base: "/api/auth/scim/v2", token }));
    return [
      side(environment, { name: "Atrium", port: service.port, pid: service.pid }, ours, scenario),
      side(environment, { name: "better-auth", port: ready.port, pid }, theirs, scenario),
    ];
  },
}));

const full = new WeakMap<object, Promise<void>>();

function filled(service: object, fillIt: () => Promise<void>): Promise<void> {
  const known = full.get(service) ?? fillIt();
  full.set(service, known);
  return known;
}
