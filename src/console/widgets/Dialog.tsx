import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { createPortal, flushSync } from "react-dom";
import type { Failure } from "../session/failures.ts";
import { Button } from "./Button.tsx";
import { copyText } from "./clipboard.ts";
import style from "./Dialog.module.css";
import { Input } from "./form/Field.tsx";
import { useGuard } from "./guard.ts";
import { FailureNotice } from "./Notice.tsx";
import { asSeen, classes, inWords } from "./words.ts";

interface DialogProps {
  title: string;
  about?: ReactNode;
  open: boolean;
  /** Called when the person closes it. */
  onClose: () => void;
  /** Input that would be lost: closing it and leaving the page ask first. */
  dirty?: boolean;
  wide?: boolean;
  children: ReactNode;
}

/** A dialog with a title. Escape closes it, and asks first where input would be lost. */
export function Dialog({ title, about, open, onClose, dirty = false, wide = false, children }: DialogProps) {
  const [asking, setAsking] = useState(false);
  const popup = useRef<HTMLDivElement>(null);
  useGuard(open && dirty);
  return (
    <BaseDialog.Root open={open} onOpenChange={(next) => !next && (dirty ? setAsking(true) : onClose())}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={style["backdrop"]} />
        <BaseDialog.Popup
          ref={popup}
          className={classes(style["popup"], wide && style["wide"])}
          // An `autoFocus` would take the focus before the dialog has noted where to return it.
          initialFocus={() => popup.current?.querySelector<HTMLElement>("[data-focus-first]") ?? true}
        >
          <BaseDialog.Title className={style["title"]}>{title}</BaseDialog.Title>
          {about !== undefined && (
            <BaseDialog.Description className={style["about"]} render={<div />}>
              {about}
            </BaseDialog.Description>
          )}
          {children}
          <Discard
            open={asking}
            onCancel={() => setAsking(false)}
            onConfirm={() => {
              setAsking(false);
              onClose();
            }}
          />
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

/** Asks before what was typed is lost. */
export function Discard(props: Pick<ConfirmProps, "open" | "onCancel" | "onConfirm">) {
  return <Confirm {...props} title="Discard changes?" about="What you typed is lost." verb="Discard" />;
}

/** The row of buttons at the end of a dialog. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <div className={style["actions"]}>{children}</div>;
}

/** What a dialog shows of the call that it makes. */
interface CallState {
  readonly busy: boolean;
  readonly failure: Failure | undefined;
}

interface SubmitProps {
  call: CallState;
  /** Text of the button that submits. */
  verb: string;
  look?: "primary" | "danger";
  onCancel: () => void;
}

/** The end of a form in a dialog: why its call failed, "Cancel", and the button that submits. */
export function SubmitActions({ call, verb, look = "primary", onCancel }: SubmitProps) {
  return (
    <>
      {call.failure !== undefined && <FailureNotice failure={call.failure} />}
      <DialogActions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button look={look} type="submit" busy={call.busy}>
          {verb}
        </Button>
      </DialogActions>
    </>
  );
}

interface ConfirmProps {
  title: string;
  /** What stops when it is confirmed. */
  about: ReactNode;
  /** Text of the button: the verb of the title. */
  verb: string;
  open: boolean;
  /** The call that it makes: its failure is shown, until the dialog opens again. */
  call?: CallState & { clear?(): void };
  busy?: boolean;
  /** Text to type before the button works: it is compared as it looks. The verb is asked for where nothing is seen. */
  typed?: string | undefined;
  children?: ReactNode;
  onCancel: () => void;
  onConfirm: () => void;
}

/** Asks before something is destroyed. The focus starts on "Cancel". */
export function Confirm(props: ConfirmProps) {
  const { title, about, verb, open, call, busy = call?.busy, typed, children, onCancel, onConfirm } = props;
  const cancel = useRef<HTMLButtonElement>(null);
  const [text, setText] = useState("");
  const wanted = typed === undefined ? undefined : asSeen(typed) || verb;
  const matches = wanted === undefined || asSeen(text) === wanted;
  // Kept while the call waits for a step-up that may be cancelled.
  useEffect(() => {
    if (!open) setText("");
  }, [open]);
  // One dialog asks about each thing of a list: why the call failed for another one is not said again.
  useLayoutEffect(() => {
    if (open) call?.clear?.();
  }, [open]);
  return (
    <AlertDialog.Root open={open} onOpenChange={(next) => !next && onCancel()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={style["backdrop"]} />
        <AlertDialog.Popup className={style["popup"]} initialFocus={cancel}>
          <AlertDialog.Title className={style["title"]}>{title}</AlertDialog.Title>
          <AlertDialog.Description className={style["about"]} render={<div />}>
            {about}
          </AlertDialog.Description>
          {wanted !== undefined && (
            <Input
              label={`Type ${wanted} to confirm`}
              value={text}
              onChange={setText}
              autoComplete="off"
              spellCheck={false}
            />
          )}
          {children}
          {call?.failure !== undefined && <FailureNotice failure={call.failure} />}
          <div className={style["actions"]}>
            <Button ref={cancel} onClick={onCancel}>
              Cancel
            </Button>
            <Button look="danger" busy={busy} disabled={!matches} onClick={onConfirm}>
              {verb}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

interface SecretProps {
  /** What it is, in lower case: `API key`. */
  thing: string;
  /** The secret; undefined: the dialog is closed. */
  secret: string | undefined;
  /** Name of the file that "Download" saves. */
  file: string;
  /** What to do with it. */
  about?: ReactNode;
  print?: boolean;
  children?: ReactNode;
  onSaved: () => void;
}

/**
 * Shows a secret once. It closes by "I have saved it" alone, and then nothing of it is left in the document. Leaving
 * the page asks first.
 */
export function SecretDialog({ thing, secret, file, about, print = false, children, onSaved }: SecretProps) {
  const [shown, setShown] = useState(false);
  const [copied, setCopied] = useState(false);
  const sheet = usePrintSheet(print && secret !== undefined);
  useGuard(secret !== undefined, "secret");
  const save = (): void => {
    const url = URL.createObjectURL(new Blob([secret ?? ""], { type: "text/plain" }));
    Object.assign(document.createElement("a"), { href: url, download: file }).click();
    URL.revokeObjectURL(url);
  };
  return (
    <AlertDialog.Root open={secret !== undefined}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={style["backdrop"]} />
        <AlertDialog.Popup className={style["popup"]}>
          <AlertDialog.Title className={style["title"]}>Save this {thing}</AlertDialog.Title>
          <AlertDialog.Description className={style["about"]} render={<div />}>
            {about ?? "It is shown once. Nobody, not even an admin, can read it again."}
          </AlertDialog.Description>
          <div className={style["secret"]}>
            <pre>{shown ? secret : "•".repeat(24)}</pre>
            <div>
              <Button small onClick={() => setShown(!shown)}>
                {shown ? "Hide" : "Show"}
              </Button>
              <Button small onClick={() => void copyText(secret ?? "").then(setCopied)}>
                Copy
              </Button>
              <Button small onClick={save}>
                Download
              </Button>
              {print && (
                <Button small onClick={sheet.print}>
                  Print
                </Button>
              )}
              <span role="status">{copied ? "Copied" : ""}</span>
            </div>
          </div>
          {sheet.isPrinting &&
            createPortal(
              <div className={style["sheet"]}>
                <h1>{inWords(thing)}</h1>
                <p>{location.host}</p>
                <pre>{secret}</pre>
              </div>,
              document.body,
            )}
          {children}
          <div className={style["actions"]}>
            <Button
              look="primary"
              onClick={() => {
                setShown(false);
                setCopied(false);
                onSaved();
              }}
            >
              I have saved it
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

/** Whether the sheet that is printed instead of the page has to be in the document, and what prints it. */
function usePrintSheet(active: boolean): { isPrinting: boolean; print: () => void } {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    if (!active) return;
    // The browser takes the page as it is when the handler returns.
    const before = (): void => flushSync(() => setPrinting(true));
    const after = (): void => setPrinting(false);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
      setPrinting(false);
    };
  }, [active]);
  return {
    isPrinting: active && isPrinting,
    print: () => {
      flushSync(() => setPrinting(true));
      window.print();
    },
  };
}
