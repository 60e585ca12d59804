import type { SeededSession } from "./fresh-tokens.ts";
import type { Service } from "./service.ts";
import { runSql } from "../support/postgres.ts";

/** Person whose organization gets many members: an owner, but no platform admin. */
export const HOST = 1;

/** One of many seeded people. */
export interface Member {
  userUuid: string;
  email: string;
}

/** The organization of the session of a number. */
export function organizationOf({ tokens }: Service, session: number): string {
  const claims = JSON.parse(Buffer.from((tokens[session] ?? "").split(".")[1] ?? "", "base64url").toString("utf8")) as {
    org: string;
  };
  return claims.org;
}

/** How many people are seeded, and how. */
export interface SeedOptions {
  /** Before the number in their addresses; also distinguishes groups. */
  name: string;
  count: number;
  /** PHC string; without it nobody has a password. */
  passwordHash?: string;
  log?(line: string): void;
}

const batch = 100_000;

/** Makes people who are admins of the host's organization, as fast as the database takes them. */
export async function seedPeople(service: Service, { name, count, passwordHash, log }: SeedOptions): Promise<void> {
  const org = organizationOf(service, HOST);
  for (let from = 0; from < count; from += batch) {
    const to = Math.min(count, from + batch);
    const made = await runSql<{ users: string[] }>(
      service.databaseUrl,
      `with made as (
         insert into people
           (uuid, email, email_key, first_name, password_hash, email_confirmed_at, created_at, updated_at)
         select gen_random_uuid(), a.email, a.email, 'Bench', $4, now(), now(), now()
         from generate_series($2::integer, $3::integer - 1) n,
           lateral (select $1 || lpad(n::text, 7, '0') || '@people.test' as email) a
         returning uuid
       ) select array_agg(uuid) as users from made`,
      [name, from, to, passwordHash ?? null],
    );
    await runSql(
      service.databaseUrl,
      `insert into memberships (org_uuid, user_uuid, role_id, created_at, updated_at)
       select $1, uuid, 1, now(), now() from unnest($2::uuid[]) uuid`,
      [org, made[0]?.users],
    );
    if (count > batch) log?.(`  ${to.toLocaleString("en")} of ${count.toLocaleString("en")} people`);
  }
  // Plans of statements that were prepared when there were few people would stay till the database looks by itself,
  // within a minute.
  await runSql(service.databaseUrl, "analyze people, memberships, scim_users");
}

/** The first `count` people seeded under a name. */
export function seededPeople({ databaseUrl }: Service, name: string, count: number): Promise<Member[]> {
  const sql = `select uuid as "userUuid", email from people
    where email_key >= $1 and email_key < $1 || 'a' order by email_key limit $2`;
  return runSql<Member>(databaseUrl, sql, [name, count]);
}

/**
 * Opens a session of each of them, `refreshTokens[i]` (where given) the first refresh token of the session of number i.
 */
export function seedSessions(
  service: Service,
  members: readonly Member[],
  refreshTokens: readonly string[] = [],
): Promise<SeededSession[]> {
  return runSql<SeededSession>(
    service.databaseUrl,
    `with opened as (
       insert into sessions
         (uuid, user_uuid, org_uuid, device_uuid, amr, auth_time, created_at, last_seen_at, ip_address, user_agent,
          expires_at, refresh_until)
       select m.sid, m.sub, $1, gen_random_uuid(), '{pwd}', now(), now(), now(), '127.0.0.1', 'bench',
         now() + interval '7 days', now() + interval '30 days'
       from unnest($2::uuid[], $3::uuid[]) as m (sid, sub) returning uuid as sid, user_uuid as sub
     ), kept as (
       insert into refresh_tokens (hash, session_uuid, created_at, expires_at)
       select sha256(convert_to(token, 'UTF8')), sid, now(), now() + interval '7 days'
       from unnest($2::uuid[], $4::text[]) as r (sid, token) where token is not null
     ) select sid, sub from opened`,
    [
      organizationOf(service, HOST),
      members.map(() => crypto.randomUUID()),
      members.map(({ userUuid }) => userUuid),
      refreshTokens,
    ],
  );
}
