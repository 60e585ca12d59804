import type { EntityManager } from "@mikro-orm/postgresql";
import type { Database } from "../../platform/db/types.ts";
import { Install } from "./entities.ts";
import type { InstallView } from "./installs.ts";
import type { TimelineEvent } from "./rules.ts";

/** An install as watchers see it. */
export interface WatchedInstall {
  view: InstallView;
  /** Newest line of its timeline; another one after every change. */
  version: string;
}

/** Newest line of the timeline of each of these installs. */
export function newestLines(
  database: Pick<Database, "watching">,
  installIds: readonly string[],
): Promise<{ install_id: string; newest: string }[]> {
  const sql = `select w.install_id, t.id::text as newest from unnest($1::uuid[]) as w (install_id)
    cross join lateral (select id from install_timeline where install_id = w.install_id order by id desc limit 1) t`;
  return database.watching("install-watch", sql, [installIds]);
}

interface Row extends Record<string, unknown> {
  install_id: string;
  app_name: string;
  app_slug: string;
  newest: string | null;
  timeline: { at: string; event: TimelineEvent; detail: string }[];
}

/** Installs with their timelines, each as it stood at one moment, by one statement. */
export async function watchedInstalls(
  database: Pick<Database, "watching" | "read">,
  installIds: readonly string[],
): Promise<ReadonlyMap<string, WatchedInstall>> {
  const sql = `select i.*, a.name as app_name, a.slug as app_slug, t.newest::text as newest, coalesce(t.lines, '[]') as timeline
    from installs i join apps a using (app_id)
    left join lateral (
      select max(id) as newest, json_agg(json_build_object('at', at, 'event', event, 'detail', detail) order by id) as lines
      from install_timeline where install_id = i.install_id) t on true
    where i.install_id = any($1::uuid[])`;
  const rows = await database.watching<Row>("installs-watched", sql, [installIds]);
  // Nothing is read here: the entity manager only makes entities of rows.
  return database.read((em) => Promise.resolve(new Map(rows.map((row) => [row.install_id, watched(em, row)]))));
}

function watched(em: EntityManager, { app_name: name, app_slug: slug, newest, timeline, ...row }: Row): WatchedInstall {
  const install = em.map(Install, row);
  const lines = timeline.map((line) => ({ ...line, at: new Date(line.at) }));
  return { view: { install, app: { appId: install.appId, name, slug }, timeline: lines }, version: newest ?? "" };
}
