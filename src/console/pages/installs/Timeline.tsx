import type { TimelineEntry } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { Time } from "../../widgets/Time.tsx";
import { inWords } from "../../widgets/words.ts";
import style from "./Timeline.module.css";

const WORDS: Readonly<Record<string, readonly [words: string, kind?: "good" | "bad"]>> = {
  requested: ["Requested"],
  attempt_failed: ["An attempt to reach the publisher failed", "bad"],
  accepted: ["The publisher accepted the request"],
  active: ["Active", "good"],
  failed: ["Provisioning failed", "bad"],
  suspended: ["Suspended by the publisher", "bad"],
  resumed: ["Resumed", "good"],
  deprovisioning: ["Deprovisioning"],
  forced: ["Ended without the publisher's confirmation", "bad"],
  deprovisioned: ["Deprovisioned"],
  notice_failed: ["A notice to the publisher failed", "bad"],
};

/** What happened to an install, oldest first; new entries appear as they happen. */
export function Timeline({ entries }: { entries: readonly TimelineEntry[] }) {
  return (
    <ol className={style["timeline"]} aria-label="Timeline" aria-live="polite" role="list">
      {entries.map(({ at, event, detail }, index) => {
        const [words, kind] = WORDS[event] ?? [inWords(event)];
        return (
          // Entries are only ever appended.
          <li key={index} data-kind={kind}>
            <div className={style["head"]}>
              <strong>{words}</strong>
              <span>
                <Time at={at} />
              </span>
            </div>
            {detail !== undefined && <div className={style["detail"]}>{detail}</div>}
          </li>
        );
      })}
    </ol>
  );
}
