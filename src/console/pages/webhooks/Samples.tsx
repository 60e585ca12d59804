import { useState } from "react";
import { WEBHOOK_SAMPLES } from "../../../../gen/webhook-samples.ts";
import { useOrg } from "../../session/use-session.ts";
import { Select } from "../../widgets/form/Field.tsx";
import style from "./Webhooks.module.css";

/** Whether something sends events of this type already. */
const isSent = (type: string): boolean => WEBHOOK_SAMPLES[type]?.when.startsWith("Reserved") !== true;

/** An example of the body that each event posts. */
export function Samples({ chosen }: { chosen: readonly string[] }) {
  const orgUuid = useOrg();
  const types = Object.keys(WEBHOOK_SAMPLES).filter((type) => chosen.includes("*") || chosen.includes(type));
  const [picked, setPicked] = useState<string>();
  const type = picked !== undefined && types.includes(picked) ? picked : (types.find(isSent) ?? types[0]);
  const row = type === undefined ? undefined : WEBHOOK_SAMPLES[type];
  if (type === undefined || row === undefined) return null;
  const body = { type, timestamp: "2026-01-31T12:00:00Z", id: "evt_sample", org_uuid: orgUuid, data: row.sample };
  return (
    <details>
      <summary>Sample payloads</summary>
      <Select
        label="Event"
        value={type}
        onChange={setPicked}
        options={types.map((one) => [one, one] as const)}
        hint={row.when}
      />
      <pre className={style["body"]} tabIndex={0} aria-label={`Sample of ${type}`}>
        {JSON.stringify(body, null, 2)}
      </pre>
    </details>
  );
}
