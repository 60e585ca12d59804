import { AlertDialog } from "@base-ui/react/alert-dialog";
import { useEffect, useState } from "react";
import { hearOthers, idleSince, noteActivity } from "../session/session.ts";
import { settings } from "../settings.ts";
import { Button } from "../widgets/Button.tsx";
import dialog from "../widgets/Dialog.module.css";
import { clock } from "../widgets/words.ts";
import { leave } from "./leave.ts";

const WARNING_MS = 120_000;

const restMs = (): number => idleSince() + settings.idleMs - Date.now();

/** Ends the session when nobody has done anything in any tab for a while, and asks two minutes before. */
export function IdleDialog() {
  const [left, setLeft] = useState<number>();
  useEffect(() => {
    const note = (): void => {
      // While the question is open, only its button counts.
      if (restMs() > WARNING_MS) noteActivity();
    };
    let asking = false;
    const end = async (): Promise<void> => {
      asking = true;
      await hearOthers();
      asking = false;
      if (restMs() <= 0) leave("idle");
    };
    const check = (): void => {
      const rest = restMs();
      if (rest <= 0 && !asking) void end();
      setLeft(rest <= WARNING_MS ? rest : undefined);
    };
    noteActivity();
    const timer = setInterval(check, 1_000);
    for (const type of ["pointerdown", "keydown", "wheel", "touchstart"])
      addEventListener(type, note, { passive: true });
    document.addEventListener("visibilitychange", check);
    return () => {
      clearInterval(timer);
      for (const type of ["pointerdown", "keydown", "wheel", "touchstart"]) removeEventListener(type, note);
      document.removeEventListener("visibilitychange", check);
    };
  }, []);
  return (
    <AlertDialog.Root open={left !== undefined && left > 0}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={dialog["backdrop"]} />
        <AlertDialog.Popup className={dialog["popup"]}>
          <AlertDialog.Title className={dialog["title"]}>Still there?</AlertDialog.Title>
          <AlertDialog.Description className={dialog["about"]}>
            Nothing was done for a while. You are signed out in {clock((left ?? 0) / 1000)}.
          </AlertDialog.Description>
          <div className={dialog["actions"]}>
            <Button onClick={() => leave()}>Sign out</Button>
            <Button
              look="primary"
              onClick={() => {
                noteActivity();
                setLeft(undefined);
              }}
            >
              Stay signed in
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
