import type { Tx } from "../../../platform/db/types.ts";
import { bySystem, EVENTS } from "../../event-catalogue/index.ts";
import type { Cause, Events } from "../../event-catalogue/index.ts";
import type { Install } from "./entities.ts";
import { INSTALL_CHANGED, INSTALL_ENDED } from "./events.ts";

type InstallEvent = Extract<keyof typeof EVENTS, `install.${string}`>;

/** What a publisher causes, who is no principal of the service. */
export const byPublisher: Cause = { actor: null, userUuid: null, info: bySystem.info };

/** Events with which the end of an install begins. */
const ENDS: readonly InstallEvent[] = ["install.deprovisioning", "install.failed"];

/** Records an event of an install in the audit log and for webhooks, and tells other domains when its end begins. */
export async function recordInstallEvent(
  { events }: { events: Pick<Events, "emit"> },
  tx: Tx,
  type: InstallEvent,
  by: Cause,
  install: Install,
): Promise<void> {
  const data = { install_id: install.installId, app_id: install.appId };
  await events.emit(tx, EVENTS[type], {
    by,
    orgUuid: install.orgUuid,
    resourceId: install.installId,
    metadata: data,
    data,
    appId: install.appId,
  });
  if (ENDS.includes(type))
    await tx.emit({ topic: INSTALL_ENDED, payload: { org_uuid: install.orgUuid, install_id: install.installId } });
}

/** Signals the install's workflow to read the row. */
export function emitChanged(tx: Tx, installId: string): Promise<void> {
  return tx.emit({ topic: INSTALL_CHANGED, payload: { install_id: installId } });
}
