import type { Environment } from "../environment.ts";
import { runSql } from "../../support/postgres.ts";
import { HOST, organizationOf } from "../seeded-people.ts";
import type { Service } from "../service.ts";
import { organizations } from "../scale.ts";
import type { WithPeople } from "../scale.ts";
import { p50Side } from "./latency.ts";
import type { RatioRow, Side } from "./row.ts";

interface Read {
  name: string;
  title: string;
  target: number;
  filter: string;
}

const reads: readonly Read[] = [
  { name: "scim-name", title: "SCIM userName eq", target: 1.5, filter: 'userName eq "Member0004321@people.test"' },
  { name: "scim-prefix", title: "SCIM userName sw", target: 1.5, filter: 'userName sw "member000432"' },
  { name: "scim-email", title: "SCIM emails.value eq", target: 1.5, filter: 'emails eq "member0004321@people.test"' },
  {
    name: "scim-modified",
    title: "SCIM meta.lastModified gt",
    target: 1.5,
    filter: 'meta.lastModified gt "2089-01-01T00:00:00Z"',
  },
  { name: "scim-external", title: "SCIM externalId eq", target: 1.5, filter: 'externalId eq "external0004321"' },
  { name: "scim-family", title: "SCIM name.familyName eq", target: 1.5, filter: 'name.familyName eq "FAMILY0004321"' },
];

const described = new WeakMap<Service, Promise<void>>();

/**
 * Gives everybody an externalId and a family name of their own, and a hundred a time of change after all others. Kept
 * services have them from an earlier run.
 */
function describePeople(service: Service): Promise<void> {
  const known = described.get(service) ?? newDescriptions(service);
  described.set(service, known);
  return known;
}

async function newDescriptions({ databaseUrl }: Service): Promise<void> {
  await runSql(
    databaseUrl,
    `update scim_users u set external_id = 'external' || n,
       data = u.data || jsonb_build_object('externalId', 'external' || n,
         'name', coalesce(u.data->'name', '{}') || jsonb_build_object('familyName', 'Family' || n)),
       folded = u.folded || jsonb_build_object(
         'name', coalesce(u.folded->'name', '{}') || jsonb_build_object('familyName', 'family' || n)),
       updated_at = case when n < '0000100' then timestamptz '2090-01-01' else updated_at end
     from (select user_uuid, org_uuid, substr(user_name, 7, 7) as n from scim_users
       where user_name like 'member%@people.test' and external_id is null) p
     where u.org_uuid = p.org_uuid and u.user_uuid = p.user_uuid`,
  );
  await runSql(databaseUrl, "vacuum (analyze) scim_users");
}

/** What reads by SCIM cost in an organization of a million people, against one of ten thousand. */
export const scimReads: readonly RatioRow[] = reads.map(({ name, title, target, filter }) => ({
  kind: "ratio",
  name,
  title: `${title}: p50 at a million people, against 10 thousand`,
  unit: "ms",
  target,
  at: "most",
  async sides(environment) {
    const { small, large } = await organizations(environment);
    await describePeople(small);
    await describePeople(large);
    const query = `filter=${encodeURIComponent(filter)}`;
    return [
      await side(environment, "a million people", large, query),
      await side(environment, "10 thousand people", small, query),
    ];
  },
}));

/** What a late page by cursor costs among a million people, against the first. */
export const scimCursors: RatioRow = {
  kind: "ratio",
  name: "scim-cursor",
  title: "SCIM cursor, page 10,000 against page 1, p50 at a million people",
  unit: "ms",
  target: 1.2,
  at: "most",
  async sides(environment) {
    const { large } = await organizations(environment);
    const token = await tokenOf(large);
    let cursor = "";
    for (let page = 1; page < 5_000; page++) {
      const path = `${baseOf(large)}/Users?count=200&attributes=id&cursor=${encodeURIComponent(cursor)}`;
      const answer = await fetch(`http://127.0.0.1:${large.port}${path}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const next = ((await answer.json()) as { nextCursor?: string }).nextCursor;
      if (next === undefined) break;
      cursor = next;
    }
    return [
      p50Side(environment, "page 10,000", large, `${baseOf(large)}/Users?count=100&cursor=${cursor}`, [token]),
      p50Side(environment, "page 1", large, `${baseOf(large)}/Users?count=100&cursor=`, [token]),
    ];
  },
};

const baseOf = (service: Service): string => `/scim/v2/organizations/${organizationOf(service, HOST)}`;

const tokens = new WeakMap<Service, Promise<string>>();

/** A SCIM token of the host's organization: 5 at most may live. */
function tokenOf(service: Service & WithPeople): Promise<string> {
  const known = tokens.get(service) ?? newToken(service);
  tokens.set(service, known);
  return known;
}

async function newToken(service: Service & WithPeople): Promise<string> {
  const path = `/api/admin/organizations/${organizationOf(service, HOST)}/scim-tokens`;
  const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.readers[0]}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "bench" }),
  });
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { token: string }).token;
}

async function side(
  environment: Environment,
  name: string,
  service: Service & WithPeople,
  query: string,
): Promise<Side> {
  const token = await tokenOf(service);
  return p50Side(environment, name, service, `${baseOf(service)}/Users?${query}`, [token]);
}
