import { useEffect, useState, useSyncExternalStore } from "react";
import { Button } from "./Button.tsx";
import { RequestId } from "./Copy.tsx";
import style from "./Toasts.module.css";
import { dismiss, TOAST_MS, toasts } from "./toasts.ts";
import type { Toast } from "./toasts.ts";
import { classes } from "./words.ts";

/** Polite and assertive live regions; they exist before there is a message, or it would not be announced. */
export function Toasts() {
  const list = useSyncExternalStore(toasts.subscribe, toasts.get);
  return (
    <div className={style["toasts"]}>
      <div role="status">{list.map((toast) => toast.kind === "status" && <One key={toast.id} toast={toast} />)}</div>
      <div role="alert">{list.map((toast) => toast.kind === "alert" && <One key={toast.id} toast={toast} />)}</div>
    </div>
  );
}

function One({ toast }: { toast: Toast }) {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(() => dismiss(toast.id), TOAST_MS);
    return () => clearTimeout(timer);
  }, [held, toast.id]);
  return (
    <div
      className={classes(style["toast"], toast.kind === "alert" && style["bad"])}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <span>
        {toast.text}
        {toast.requestId !== undefined && <RequestId of={toast.requestId} />}
      </span>
      {toast.undo !== undefined && (
        <Button
          look="quiet"
          small
          onClick={() => {
            toast.undo?.();
            dismiss(toast.id);
          }}
        >
          Undo
        </Button>
      )}
      <Button look="quiet" small aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
        ×
      </Button>
    </div>
  );
}
