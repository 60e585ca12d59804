import { Menu } from "@base-ui/react/menu";
import { useState } from "react";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { failureOf } from "../../session/failures.ts";
import { callRest } from "../../session/session.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { alertToast } from "../../widgets/toasts.ts";
import style from "./Audit.module.css";

const FORMATS = [
  ["csv", "CSV"],
  ["json", "JSON"],
  ["ndjson", "NDJSON"],
] as const;

/** Saves the whole log as a file. */
export function Export() {
  const orgUuid = useOrg();
  const [busy, setBusy] = useState(false);
  const save = async (format: string): Promise<void> => {
    setBusy(true);
    try {
      const path = `/api/organizations/${orgUuid}/audit-events/export?format=${format}`;
      const answer = await callRest(AuthEventsService.method.exportAuditEvents, path);
      const url = URL.createObjectURL(await answer.blob());
      Object.assign(document.createElement("a"), { href: url, download: `audit-events.${format}` }).click();
      URL.revokeObjectURL(url);
    } catch (error) {
      alertToast(failureOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Menu.Root>
      <Menu.Trigger render={<Button busy={busy} />}>Export</Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end">
          <Menu.Popup className={style["menu"]}>
            {FORMATS.map(([format, label]) => (
              <Menu.Item key={format} className={style["item"]} onClick={() => void save(format)}>
                {label}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
