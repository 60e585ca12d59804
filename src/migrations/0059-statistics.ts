import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** The app of an entry: statistics of an app read its entries by time, whosever installs they are. */
const apps = "alter table install_timeline add column if not exists app_id uuid";

const fill = `update install_timeline t set app_id = i.app_id from installs i
  where i.install_id = t.install_id and t.app_id is null`;

/** Statistics of apps by time. */
export const statistics = defineConcurrentMigration("0059-statistics", [
  apps,
  fill,
  {
    index: "install_timeline_app",
    on: `install_timeline (app_id, at, event) where event in ('requested', 'active', 'failed', 'deprovisioned')`,
  },
]);
