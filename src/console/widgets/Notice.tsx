import { CircleAlert, CircleCheck, Info } from "lucide-react";
import type { ReactNode } from "react";
import type { Failure } from "../session/failures.ts";
import { Copy } from "./Copy.tsx";
import style from "./Small.module.css";

/** A remark beside the matter it is about. `bad` is announced at once. */
export function Notice({ kind = "info", children }: { kind?: "info" | "good" | "warn" | "bad"; children: ReactNode }) {
  const Icon = kind === "good" ? CircleCheck : kind === "info" ? Info : CircleAlert;
  return (
    <div className={style["notice"]} data-kind={kind} role={kind === "bad" ? "alert" : undefined}>
      <Icon aria-hidden />
      <div>{children}</div>
    </div>
  );
}

/** An error of the service: what happened, and the id of the request for whoever looks into it. */
export function FailureNotice({ failure }: { failure: Failure }) {
  const { code, message, requestId } = failure;
  return (
    <Notice kind="bad">
      {message}{" "}
      {code !== "offline" && (
        <a href={`docs/errors/${code}`} target="_blank" rel="noreferrer">
          {code}
        </a>
      )}
      {requestId !== undefined && (
        <>
          {" · request "}
          <code>{requestId.slice(0, 8)}…</code>
          <Copy text={requestId} what="request id" />
        </>
      )}
    </Notice>
  );
}
