import type { EntityManager } from "@mikro-orm/postgresql";
import type { Database } from "../../../platform/db/types.ts";
import { Install } from "./entities.ts";
import type { InstallView } from "./read-install.ts";
import { TIMELINE_JSON, timelineOf } from "./timeline-store.ts";
import type { TimelineRow } from "./timeline-store.ts";

/** An install with a version of its state. */
export interface WatchedInstall {
  view: InstallView;
  /** The newest entry of its timeline, and what payments set, which append none. */
  version: string;
}

/** {@link WatchedInstall.version} of an install `i` whose newest entry has this id. */
const versionOf = (newest: string): string =>
  `concat_ws('/', ${newest}, i.payment_source, extract(epoch from i.current_period_end))`;

/** Versions of installs, as {@link WatchedInstall.version}. */
export function currentVersions(
  database: Pick<Database, "watching">,
  installIds: readonly string[],
): Promise<{ installId: string; version: string }[]> {
  const sql = `select i.install_id as "installId", ${versionOf("t.id")} as version
    from unnest($1::uuid[]) as w (install_id) join installs i on i.install_id = w.install_id
    cross join lateral (select id from install_timeline where install_id = w.install_id order by id desc limit 1) t`;
  return database.watching("install-watch", sql, [installIds]);
}

interface Row extends Record<string, unknown> {
  install_id: string;
  app_name: string;
  app_slug: string;
  version: string;
  timeline: TimelineRow[];
}

/** Installs with their timelines by id; one statement reads both at the same moment. */
export async function watchedInstalls(
  database: Pick<Database, "watching" | "read">,
  installIds: readonly string[],
): Promise<ReadonlyMap<string, WatchedInstall>> {
  const sql = `select i.*, a.name as app_name, a.slug as app_slug, ${versionOf("t.newest")} as version,
      coalesce(t.lines, '[]') as timeline
    from installs i join apps a using (app_id)
    left join lateral (
      select max(t.id) as newest, json_agg(${TIMELINE_JSON} order by t.id) as lines
      from install_timeline t where t.install_id = i.install_id) t on true
    where i.install_id = any($1::uuid[])`;
  const rows = await database.watching<Row>("installs-watched", sql, [installIds]);
  // This reads nothing: the entity manager only maps rows to entities.
  return database.read((em) => Promise.resolve(new Map(rows.map((row) => [row.install_id, toWatched(em, row)]))));
}

function toWatched(em: EntityManager, row: Row): WatchedInstall {
  const { app_name: name, app_slug: slug, version, timeline, ...columns } = row;
  const install = em.map(Install, columns);
  const view = { install, app: { appId: install.appId, name, slug }, timeline: timelineOf(timeline) };
  return { view, version };
}
