import { useState } from "react";
import { linkToken } from "../session/link-token.ts";
import type { LinkToken } from "../session/link-token.ts";
import { Button } from "../widgets/Button.tsx";
import { Copy } from "../widgets/Copy.tsx";
import { Done } from "../widgets/Notice.tsx";
import { Door } from "./Door.tsx";
import { LinkIncomplete } from "./LinkIncomplete.tsx";

/** How long the waiting tab has to take the token. */
const WAIT_MS = 1_500;

/** Hands the token of a step-up mail to the tab that waits for it; elsewhere it is shown to be copied. */
export default function StepUpLink() {
  const link = linkToken();
  const [state, setState] = useState<"ready" | "asking" | "taken" | "shown">("ready");
  const title = "Confirm that it is you";
  if (link === undefined) return <LinkIncomplete title={title} />;

  function hand(waiting: LinkToken): void {
    setState("asking");
    const channel = new BroadcastChannel("atrium-step-up");
    const timer = setTimeout(() => {
      channel.close();
      setState("shown");
    }, WAIT_MS);
    channel.addEventListener("message", ({ data }: MessageEvent<{ taken?: string }>) => {
      // The acknowledgements of other links come by the same channel.
      if (data.taken === undefined || data.taken !== waiting.challengeId) return;
      clearTimeout(timer);
      channel.close();
      setState("taken");
    });
    channel.postMessage(waiting);
  }

  return (
    <Door title={title} about={state === "ready" ? "Press the button to go on where you were asked." : undefined}>
      {state === "taken" ? (
        <Done>Done. Go back to the tab that asked; you can close this one.</Done>
      ) : state === "shown" ? (
        <>
          <p>No tab of this browser waits for it. Paste this code where you were asked:</p>
          <p>
            <code>{link.token}</code> <Copy text={link.token} what="code" />
          </p>
        </>
      ) : (
        <Button look="primary" wide busy={state === "asking"} onClick={() => hand(link)}>
          Confirm
        </Button>
      )}
    </Door>
  );
}
