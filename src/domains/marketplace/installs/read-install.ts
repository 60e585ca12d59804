import type { Database } from "../../../platform/db/types.ts";
import type { App } from "../apps/entities.ts";
import { appById } from "../apps/store.ts";
import { marketplaceErrors } from "../errors.ts";
import type { Install } from "./entities.ts";
import { installWithTimeline } from "./timeline-store.ts";
import type { TimelineEntry } from "./timeline-store.ts";

/** An install with what the contract shows of its app. */
export interface InstallView {
  install: Install;
  app: Pick<App, "appId" | "name" | "slug">;
  /** Only where a single install is read. */
  timeline?: TimelineEntry[];
}

/**
 * Reads one install with its timeline.
 * @throws {install_not_found} when there is none, or it is not `visible`
 */
export function readInstall(
  database: Pick<Database, "read">,
  installId: string,
  visible: (install: Install) => boolean,
): Promise<InstallView> {
  return database.read(async (em) => {
    const found = await installWithTimeline(em, installId);
    const app = found === null ? null : await appById(em, found.install.appId);
    if (found === null || app === null || !visible(found.install)) throw marketplaceErrors.installNotFound();
    return { ...found, app };
  });
}
