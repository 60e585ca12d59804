import { auditLogs } from "../scale.ts";
import type { ReadLog } from "../scale.ts";
import type { Service } from "../service.ts";
import type { Environment } from "../environment.ts";
import { p50Side } from "./latency.ts";
import type { RatioRow, Side } from "./row.ts";

const limit = 20;
const day = 86_400_000;

/** A list of the audit log and what it is narrowed to. */
interface List {
  name: string;
  title: string;
  /** The list of authentication events instead of the wider log. */
  auth?: boolean;
  filter(log: ReadLog["log"]): Record<string, string>;
}

// A time that is neither a whole day nor a whole minute.
const odd = (log: ReadLog["log"], days: number): string =>
  new Date(log.from.getTime() + days * day + 37_123).toISOString();
const somebody = ({ users }: ReadLog["log"]) => ({ user_uuid: users[7] ?? "" });
const range = (log: ReadLog["log"]) => ({ from: odd(log, 20.3), to: odd(log, 51.7) });
const revoked = { type: "session.revoked" };

const lists: readonly List[] = [
  { name: "audit-list", title: "no filter", filter: () => ({}) },
  { name: "audit-auth", title: "authentication events", auth: true, filter: () => ({}) },
  { name: "audit-user", title: "by person", filter: somebody },
  { name: "audit-type", title: "by type", filter: () => revoked },
  { name: "audit-outcome", title: "failures", filter: () => ({ outcome: "failure" }) },
  { name: "audit-range", title: "by time", filter: range },
  { name: "audit-user-type", title: "by person and type", filter: (log) => ({ ...somebody(log), ...revoked }) },
  { name: "audit-user-range", title: "by person and time", filter: (log) => ({ ...somebody(log), ...range(log) }) },
  {
    name: "audit-auth-range",
    title: "failed authentication by time",
    auth: true,
    filter: (log) => ({ outcome: "failure", ...range(log) }),
  },
  {
    name: "audit-all",
    title: "by person, type, outcome and time",
    filter: (log) => ({ ...somebody(log), ...revoked, outcome: "success", ...range(log) }),
  },
];

/** What a page and the exact total of ten million events cost, against those of ten thousand. */
export const auditLists: readonly RatioRow[] = lists.map((list) => ({
  kind: "ratio",
  name: list.name,
  title: `audit list, ${list.title}: p50 at 10 million events, against 10 thousand`,
  unit: "ms",
  target: 1.5,
  at: "most",
  async sides(environment) {
    const { small, large } = await auditLogs(environment);
    return [
      await side(environment, "10 million events", list, large),
      await side(environment, "10 thousand events", list, small),
    ];
  },
}));

async function side(
  environment: Environment,
  name: string,
  { auth, filter }: List,
  service: Service & ReadLog,
): Promise<Side> {
  const query = new URLSearchParams({ limit: String(limit), ...filter(service.log) }).toString();
  const path = `${auth === true ? "/api/auth/events" : `/api/organizations/${service.org}/audit-events`}?${query}`;
  const [first = ""] = service.readers;
  const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    headers: { authorization: `Bearer ${first}` },
  });
  const page = (await answer.json()) as { data?: unknown[]; total?: number };
  if (answer.status !== 200 || page.data?.length !== limit)
    throw new Error(`GET ${path} answered ${answer.status}: ${JSON.stringify(page).slice(0, 300)}`);
  environment.log(`  ${name}: ${page.total?.toLocaleString("en")} of them in the list`);
  return p50Side(environment, name, service, path, service.readers);
}
