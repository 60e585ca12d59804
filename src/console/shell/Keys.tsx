import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { PAGES } from "../pages.ts";
import { holds } from "../powers.ts";
import { usePreferences } from "../session/preferences.ts";
import { useMe } from "../session/use-session.ts";
import { Button } from "../widgets/Button.tsx";
import { Dialog, DialogActions } from "../widgets/Dialog.tsx";
import { Facts } from "../widgets/Page.tsx";

/** Fields in which no letter is typed. */
const WITHOUT_LETTERS: ReadonlySet<string> = new Set(["checkbox", "radio", "file"]);

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !WITHOUT_LETTERS.has(target.type);
  return target instanceof HTMLElement && (target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName));
}

/** Open dialogs; one that closes is in the document until it has faded. */
const DIALOGS = ':is([role="dialog"], [role="alertdialog"]):not([data-closed])';

/** Keyboard shortcuts. Single keys can be turned off in the preferences. */
export function Keys({ onSearch }: { onSearch: () => void }) {
  const me = useMe();
  const { shortcuts } = usePreferences();
  const navigate = useNavigate();
  const [listOpen, setListOpen] = useState(false);
  const targets = PAGES.filter(({ go, needs }) => go !== undefined && holds(me, needs));

  useEffect(() => {
    let pending = 0;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        // It would lead away from what is typed or shown in the dialog.
        if (document.querySelector(DIALOGS) === null) onSearch();
        return;
      }
      if (!shortcuts || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector(`${DIALOGS}, [role="menu"]`) !== null) return;
      if (pending > Date.now()) {
        pending = 0;
        const page = targets.find(({ go }) => go === event.key);
        if (page !== undefined) {
          event.preventDefault();
          void navigate({ to: page.path === "" ? "/console" : `/console/${page.path}` });
        }
      } else if (event.key === "g") pending = Date.now() + 1_500;
      else if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLElement>("[data-page-search]")?.focus();
      } else if (event.key === "c") {
        event.preventDefault();
        document.querySelector<HTMLElement>("[data-create]")?.click();
      } else if (event.key === "?") setListOpen(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [shortcuts, navigate, onSearch, targets]);

  return (
    <Dialog title="Keys" open={listOpen} onClose={() => setListOpen(false)}>
      <Facts>
        {[
          ["Ctrl K, ⌘ K", "Search and go anywhere"],
          ["/", "Search on this page"],
          ["c", "Create"],
          ...targets.map(({ go, nav }) => [`g ${go}`, nav?.label ?? ""] as const),
          ["?", "This list"],
          ["Esc", "Close the topmost dialog"],
        ]}
      </Facts>
      <DialogActions>
        <Button onClick={() => setListOpen(false)}>Close</Button>
      </DialogActions>
    </Dialog>
  );
}
