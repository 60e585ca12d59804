import pg from "pg";
import { setTimeout as sleep } from "node:timers/promises";
import { appRole } from "./connection.ts";
import { DatabaseStartError } from "./failure.ts";

/**
 * Creates the restricted role if the cluster has none, and grants it to the connecting user and `appUser`. Roles belong
 * to the whole cluster, so a concurrent migration of another database may do the same; on a conflict this retries.
 */
export async function ensureAppRole(client: pg.Client, appUser: string | undefined): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryEnsure(client, appUser);
    } catch (error) {
      const code = (error as { code?: string }).code;
      // unique_violation, duplicate_object, and "tuple concurrently updated", which is an internal error
      if (attempt >= 10 || !["23505", "42710", "XX000"].includes(code ?? "")) throw explain(error as Error);
      await sleep(20 * attempt);
    }
  }
}

async function tryEnsure(client: pg.Client, appUser: string | undefined): Promise<void> {
  const found = await client.query("select 1 from pg_roles where rolname = $1", [appRole]);
  if (found.rows.length === 0) await client.query(`create role ${appRole} nologin`);
  const me = (await client.query<{ user: string }>("select session_user as user")).rows[0]!.user;
  for (const user of new Set([me, appUser ?? me])) {
    if (!(await mayTakeRole(client, user))) {
      await client.query(`grant ${appRole} to ${pg.escapeIdentifier(user)}`);
    }
  }
}

/** Since PostgreSQL 16 membership alone does not allow SET ROLE: the creator of a role may only grant it. */
async function mayTakeRole(client: pg.Client, user: string): Promise<boolean> {
  const version = await client.query<{ number: number }>("select current_setting('server_version_num')::int as number");
  const right = version.rows[0]!.number >= 160_000 ? "SET" : "MEMBER";
  const allowed = await client.query<{ allowed: boolean }>("select pg_has_role($1, $2, $3) as allowed", [
    user,
    appRole,
    right,
  ]);
  return allowed.rows[0]!.allowed;
}

function explain(error: Error): Error {
  if ((error as { code?: string }).code !== "42501") return error;
  return new DatabaseStartError(
    `The user that runs migrations may not create or grant the role ${appRole}. As an administrator, run: ` +
      `create role ${appRole} nologin; grant ${appRole} to <the service's user>;`,
    { cause: error },
  );
}
