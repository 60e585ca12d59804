import type { Database, Tx } from "../../../platform/db/types.ts";

/** A plan of organizations. */
export interface PlanRow {
  plan: string;
  name: string;
  features: string[];
}

/** Every plan, by its name. */
export function allPlans(database: Pick<Database, "prepared">, limit: number): Promise<PlanRow[]> {
  return database.prepared<PlanRow>("plans-list", "select plan, name, features from plans order by plan limit $1", [
    limit,
  ]);
}

/** Sets a plan, or makes a new one; false when there are `most` others. */
export async function putPlan(tx: Tx, { plan, name, features }: PlanRow, most: number): Promise<boolean> {
  // New plans queue, so that none passes the limit.
  await tx.query("select pg_advisory_xact_lock(hashtextextended('plans', 0))");
  const rows = await tx.query(
    `insert into plans (plan, name, features) select $1, $2, $3
     where exists (select 1 from plans where plan = $1)
       or (select count(*) from (select 1 from plans limit $4) as present) < $4
     on conflict (plan) do update set name = excluded.name, features = excluded.features returning 1 as one`,
    [plan, name, features, most],
  );
  return rows.length > 0;
}
