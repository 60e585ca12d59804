import { createStore } from "./store.ts";
import type { Store } from "./store.ts";

/** A question that the shell asks in a dialog while a call waits. */
export interface Prompt<T, A> {
  readonly about: T;
  /** Resolves the waiting calls, once; undefined when the person declined. */
  answer(answer: A | undefined): void;
}

/** One kind of question: calls that ask while it is open wait for the same answer. */
export interface Prompts<T, A> extends Pick<Store<Prompt<T, A> | undefined>, "get" | "subscribe"> {
  ask(about: T): Promise<A | undefined>;
}

export function createPrompts<T, A>(): Prompts<T, A> {
  const store = createStore<Prompt<T, A> | undefined>(undefined);
  let waiting: Promise<A | undefined> | undefined;
  return {
    get: store.get,
    subscribe: store.subscribe,
    ask(about) {
      waiting ??= new Promise<A | undefined>((resolve) => {
        const prompt: Prompt<T, A> = {
          about,
          answer(answer) {
            if (store.get() !== prompt) return;
            waiting = undefined;
            store.set(undefined);
            resolve(answer);
          },
        };
        store.set(prompt);
      });
      return waiting;
    },
  };
}
