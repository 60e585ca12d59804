import type { UseQueryResult } from "@tanstack/react-query";
import { Fragment, useSyncExternalStore } from "react";
import type { ReactNode } from "react";
import { failureOf } from "../session/failures.ts";
import { reach } from "../session/reach.ts";
import { Button, ButtonLink } from "./Button.tsx";
import { FailureNotice } from "./Notice.tsx";
import style from "./States.module.css";
import { Time } from "./Time.tsx";
import { useCountdown } from "./use-countdown.ts";

/** Grey lines while something loads; they appear after 150 ms. */
export function Skeleton({ lines = 5 }: { lines?: number }) {
  return (
    <div className={style["skeleton"]} aria-busy="true">
      <span className="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} aria-hidden />
      ))}
    </div>
  );
}

/** Nothing is there yet: one sentence, what to do, and the call that does it. */
export function Empty({ text, action, api }: { text: string; action?: ReactNode; api?: string }) {
  return (
    <div className={style["empty"]}>
      <p>{text}</p>
      {action}
      {api !== undefined && (
        <code>
          {api.split(/(?<=\/)/u).map((part, nth) => (
            // Breaks after a slash, rather than in a word.
            <Fragment key={nth}>
              {part}
              <wbr />
            </Fragment>
          ))}
        </code>
      )}
    </div>
  );
}

/** Seconds until it tries again, where the service does not say. */
const AGAIN_S = 5;

/** Where a page about one thing leads when it cannot show it: its list, and the text of the link. */
type BackLink = readonly [to: string, label: string];

interface FailedProps {
  error: unknown;
  retry: () => void;
  backLink?: BackLink | undefined;
}

/** What went wrong, with a way to try again; after `Retry-After` it tries by itself. */
export function Failed({ error, retry, backLink }: FailedProps) {
  const failure = failureOf(error);
  const { code, retryAfter = AGAIN_S } = failure;
  // Each failure is counted down once, whatever renders meanwhile.
  const left = useCountdown(code === "unavailable" ? retryAfter : undefined, error, retry);
  return (
    <div className={style["failed"]}>
      <FailureNotice failure={failure} />
      <div className={style["actions"]}>
        <Button onClick={retry}>Try again</Button>
        {backLink !== undefined && <ButtonLink to={backLink[0]}>{backLink[1]}</ButtonLink>}
      </div>
      {left > 0 && <p>Trying again in {left} s</p>}
    </div>
  );
}

/** Says that what is shown is old, because the last reading of it failed; a service that is away has its banner. */
export function Outdated({ of }: { of: UseQueryResult<unknown, unknown> }) {
  const reached = useSyncExternalStore(reach.subscribe, reach.get) === "reached";
  if (of.error === null || of.data === undefined || !reached) return null;
  const failure = failureOf(of.error);
  if (failure.code === "offline") return null;
  return (
    <div className={style["outdated"]}>
      <p>
        Not up to date: this was read <Time at={new Date(of.dataUpdatedAt)} />.
      </p>
      <FailureNotice failure={failure} />
      <Button small busy={of.isFetching} onClick={() => void of.refetch()}>
        Try again
      </Button>
    </div>
  );
}

/** Shows what a query answered; before that a skeleton, or its error. Stale answers stay while it reloads. */
export function Answer<T>({
  of,
  lines,
  fresh = false,
  backLink,
  children,
}: {
  of: UseQueryResult<T, unknown>;
  lines?: number;
  /** Whether a stale answer does not serve: it may lack what was just made. */
  fresh?: boolean;
  backLink?: BackLink;
  children: (answer: T) => ReactNode;
}) {
  if (of.data !== undefined && !(fresh && of.isFetching))
    return (
      <>
        <Outdated of={of} />
        {children(of.data)}
      </>
    );
  if (of.data === undefined && of.error !== null)
    return <Failed error={of.error} retry={() => void of.refetch()} backLink={backLink} />;
  return <Skeleton {...(lines !== undefined && { lines })} />;
}
