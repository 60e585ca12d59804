import { useEffect } from "react";
import { createStore } from "../session/store.ts";

/** What is lost when a page is left: input, or a secret that is not shown again. */
export type Loss = "input" | "secret";

const losses = createStore<readonly Loss[]>([]);

/** What would be lost, the worse of both; undefined: nothing. */
export const unsavedStore = {
  get: (): Loss | undefined => (losses.get().includes("secret") ? "secret" : losses.get()[0]),
  subscribe: losses.subscribe,
};

/** Marks the page as having something that would be lost: the console and the browser ask before it is left. */
export function useGuard(active: boolean, loss: Loss = "input"): void {
  useEffect(() => {
    if (!active) return;
    losses.set([...losses.get(), loss]);
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => {
      losses.set(losses.get().toSpliced(losses.get().indexOf(loss), 1));
      removeEventListener("beforeunload", ask);
    };
  }, [active, loss]);
}
