import { CircleAlert, CircleCheck, Info } from "lucide-react";
import { useEffect, useRef } from "react";
import type { ReactNode, Ref } from "react";
import type { Failure } from "../session/failures.ts";
import { Copy, RequestId } from "./Copy.tsx";
import { useUnshown } from "./form/scope.tsx";
import style from "./Small.module.css";
import { useCountdown } from "./use-countdown.ts";
import { clock } from "./words.ts";

interface NoticeProps {
  kind?: "info" | "good" | "warn" | "bad";
  /** Of the request that failed: a button beside the words copies it, so that they are the same for every request. */
  requestId?: string | undefined;
  ref?: Ref<HTMLDivElement>;
  children: ReactNode;
}

/** A remark beside the matter it is about. `bad` is announced at once. */
export function Notice({ kind = "info", requestId, ref, children }: NoticeProps) {
  const Icon = kind === "good" ? CircleCheck : kind === "info" ? Info : CircleAlert;
  return (
    <div ref={ref} className={style["notice"]} data-kind={kind}>
      <Icon aria-hidden />
      <div role={kind === "bad" ? "alert" : undefined}>{children}</div>
      {requestId !== undefined && <Copy text={requestId} what="request id" />}
    </div>
  );
}

/**
 * Says that a form is done, in its place. The focus, which was in the form, moves to it, so that it is read out and the
 * keyboard goes on from there.
 */
export function Done({ children }: { children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus(), []);
  return (
    <div ref={place} tabIndex={-1} role="status">
      <Notice kind="good">{children}</Notice>
    </div>
  );
}

/** Refusals for the number of calls or of wrong answers: the same call is refused until the wait is over. */
const LIMITED: ReadonlySet<string> = new Set(["rate_limited", "too_many_attempts"]);

/**
 * An error of the service: what happened, the fields that are wrong and show it nowhere else, and the id of the request
 * for whoever looks into it. In a form, the violations of its fields are put there.
 */
export function FailureNotice({ failure }: { failure: Failure }) {
  const { code, message, requestId, retryAfter } = failure;
  const left = useCountdown(LIMITED.has(code) ? retryAfter : undefined, requestId);
  const unshown = useUnshown(failure);
  const notice = useRef<HTMLDivElement>(null);
  // At the end of a long form it is out of sight, or behind the buttons. Elsewhere nobody has asked for it: a list that
  // is read again moves nothing.
  useEffect(() => {
    const isAsked = notice.current?.matches(":is(form, [role=dialog], [role=alertdialog]) *") === true;
    if (isAsked) notice.current?.scrollIntoView({ block: "nearest" });
  }, [code, message, requestId]);
  return (
    <Notice kind="bad" ref={notice}>
      {message}{" "}
      {code !== "offline" && (
        <a href={`docs/errors/${code}`} target="_blank" rel="noreferrer">
          {code}
        </a>
      )}
      {requestId !== undefined && <RequestId of={requestId} />}
      {left > 0 && (
        // Not announced each second.
        <p role="timer" aria-live="off">
          Try again in {clock(left)}.
        </p>
      )}
      {unshown.length > 0 && (
        <ul>
          {unshown.map((violation) => (
            <li key={violation}>{violation}</li>
          ))}
        </ul>
      )}
    </Notice>
  );
}
