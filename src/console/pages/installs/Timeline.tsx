import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Install, TimelineEntry } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { useCountdownTo } from "../../widgets/use-countdown.ts";
import { Time } from "../../widgets/Time.tsx";
import { inWords, plural } from "../../widgets/words.ts";
import { PlanName } from "./PlanName.tsx";
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
export function Timeline({ of: { timeline: entries, app } }: { of: Install }) {
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
            {detail !== undefined && (
              <div className={style["detail"]}>
                <Detail of={detail} slug={app?.slug} />
              </div>
            )}
            {index === entries.length - 1 && <NextAttempt after={entries[index]} />}
          </li>
        );
      })}
    </ol>
  );
}

/** What a request is recorded with: `plan standard, quantity 12, multi_tenant`. */
const REQUEST = /^plan (?<planId>\S+), quantity (?<seats>\d+), (?<mode>\w+)$/u;

function Detail({ of: detail, slug }: { of: string; slug: string | undefined }) {
  const { planId, seats, mode } = REQUEST.exec(detail)?.groups ?? {};
  if (planId === undefined || mode === undefined) return detail;
  return (
    <>
      Plan <PlanName slug={slug} planId={planId} />, {plural(Number(seats), "seat")}, {inWords(mode).toLowerCase()}
    </>
  );
}

/** When the publisher is asked again, as a countdown; screen readers do not announce each second. */
function NextAttempt({ after }: { after: TimelineEntry | undefined }) {
  const due = millisOf(after?.nextAttemptAt);
  const failed = millisOf(after?.at);
  const left = useCountdownTo(due, due === undefined || failed === undefined ? undefined : due - failed);
  if (due === undefined) return null;
  return (
    <div className={style["detail"]} role="timer">
      {left > 0 ? `Next attempt in ${spelled(left)}` : "Next attempt now"}
    </div>
  );
}

const millisOf = (at: TimelineEntry["at"]): number | undefined =>
  at === undefined ? undefined : timestampDate(at).getTime();

/** Seconds as `4 s`, `2 min 5 s` or `1 h 3 min`. */
function spelled(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
