import type { Database } from "../../../platform/db/types.ts";

/** An install whose publisher has not completed a request for long. */
export interface StuckInstall {
  installId: string;
  slug: string;
  status: string;
  since: Date;
  /** Newest entry of its timeline. */
  last: string | null;
}

/** Installs with a request to the publisher that is pending since before `before`, oldest first. */
export function stuckInstalls(
  database: Pick<Database, "prepared">,
  before: Date,
  limit: number,
): Promise<StuckInstall[]> {
  return database.prepared<StuckInstall>(
    "installs-stuck",
    `select i.install_id as "installId", a.slug, i.status, i.step_since as since, (
       select t.event || ': ' || t.detail from install_timeline t
       where t.install_id = i.install_id order by t.id desc limit 1) as last
     from installs i join apps a using (app_id)
     where i.step is not null and i.step_since < $1 order by i.step_since limit $2`,
    [before, limit],
  );
}

/** Ids of installs with a request that is pending since before `before`, in order, after one of them. */
export async function pendingInstalls(
  database: Pick<Database, "prepared">,
  before: Date,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const sql = `select install_id as "installId" from installs where step is not null and step_since < $1
      and install_id > coalesce($2::uuid, '00000000-0000-0000-0000-000000000000')
    order by install_id limit $3`;
  const rows = await database.prepared<{ installId: string }>("installs-pending", sql, [before, after, limit]);
  return rows.map((row) => row.installId);
}
