import { useEffect } from "react";

/** Time for dialogs to return the focus by themselves, milliseconds. */
const PAUSE_MS = 50;

const canHaveFocus = (element: Element): boolean => element.isConnected && !element.matches(":disabled");

/**
 * Keeps the place of the keyboard. Where the element that has the focus goes, as the button of a deleted row, or is
 * disabled, the browser would begin at the top of the document. The focus moves to what had it before in the page, else
 * to the table that the element belonged to, else to the heading.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: Element | undefined;
    /** What had the focus last in the page, and all that it is in. */
    let path: readonly Element[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;

    const note = ({ target }: FocusEvent): void => {
      if (!(target instanceof Element)) return;
      last = target;
      if (target.closest("main") !== null) path = pathOf(target);
      else if (target.closest("header, nav") !== null) path = [];
    };
    // Whoever points goes on from there.
    const forget = (): void => {
      last = undefined;
    };
    const check = (): void => {
      timer = undefined;
      const isLost = document.activeElement === null || document.activeElement === document.body;
      if (!isLost || last === undefined || canHaveFocus(last)) return;
      if (document.querySelector("[role=dialog], [role=alertdialog]") !== null) return;
      const next = nextOf(path);
      if (next === null) return;
      // Sets the attribute, without which neither a table nor a heading takes the focus.
      if (next.tabIndex < 0) next.tabIndex = -1;
      next.focus({ preventScroll: true });
    };
    const changes = new MutationObserver(() => (timer ??= setTimeout(check, PAUSE_MS)));
    changes.observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
    document.addEventListener("focusin", note);
    document.addEventListener("pointerdown", forget, true);
    return () => {
      clearTimeout(timer);
      changes.disconnect();
      document.removeEventListener("focusin", note);
      document.removeEventListener("pointerdown", forget, true);
    };
  }, []);
}

function pathOf(element: Element): Element[] {
  const path: Element[] = [];
  for (let at: Element | null = element; at !== null && at.localName !== "main"; at = at.parentElement) path.push(at);
  return path;
}

function nextOf(path: readonly Element[]): HTMLElement | null {
  const [before] = path;
  if (before instanceof HTMLElement && canHaveFocus(before)) return before;
  for (const around of path) {
    if (!around.isConnected) continue;
    if (around.querySelector("h1") !== null) break;
    const table = around.closest("table") ?? around.querySelector("table");
    if (table !== null) return table;
  }
  return document.querySelector<HTMLElement>("main h1");
}
