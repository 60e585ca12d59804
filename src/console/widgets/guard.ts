import { useEffect } from "react";

let unsaved = 0;

/** Whether a form has input that would be lost. */
export const hasUnsaved = (): boolean => unsaved > 0;

/** Marks the page as having input that would be lost; the browser asks before it is closed. */
export function useGuard(active: boolean): void {
  useEffect(() => {
    if (!active) return;
    unsaved++;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => {
      unsaved--;
      removeEventListener("beforeunload", ask);
    };
  }, [active]);
}
