import { useEffect } from "react";
import { createStore } from "../session/store.ts";

/** How many forms have input that would be lost. */
const unsaved = createStore(0);

/** Whether a form has input that would be lost. */
export const unsavedStore = { get: (): boolean => unsaved.get() > 0, subscribe: unsaved.subscribe };

/** Marks the page as having input that would be lost: the console and the browser ask before it is left. */
export function useGuard(active: boolean): void {
  useEffect(() => {
    if (!active) return;
    unsaved.set(unsaved.get() + 1);
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => {
      unsaved.set(unsaved.get() - 1);
      removeEventListener("beforeunload", ask);
    };
  }, [active]);
}
