import { Check, Copy as CopyIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { copyText } from "./clipboard.ts";
import style from "./Small.module.css";
import { toast } from "./toasts.ts";

/** Copies a text. `what` names it for people who do not see it: "Copy key id". */
export function Copy({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 2_000);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async () => {
    if (!(await copyText(text))) return;
    setDone(true);
    toast(`Copied ${what}`);
  };
  return (
    <button type="button" className={style["copy"]} aria-label={`Copy ${what}`} onClick={() => void copy()}>
      {done ? <Check size={14} aria-hidden /> : <CopyIcon size={14} aria-hidden />}
    </button>
  );
}

/** The id of a request that failed, after the words about it: its end, as the ids of a service begin alike. */
export function RequestId({ of }: { of: string }) {
  return (
    <>
      {" · request "}
      <span className={style["id"]}>
        <code>…{of.slice(-8)}</code>
        <Copy text={of} what="request id" />
      </span>
    </>
  );
}

/** An id, shortened, with a button that copies the whole. */
export function Id({ of, what }: { of: string; what: string }) {
  return (
    <span className={style["id"]}>
      <code title={of}>{of.length > 13 ? `${of.slice(0, 8)}…` : of}</code>
      <Copy text={of} what={what} />
    </span>
  );
}
