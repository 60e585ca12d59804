import type { SessionStore, Tokens } from "./stores.ts";

/** The tokens in a store that may fail. */
export interface KeptTokens {
  get(): Promise<Tokens | undefined>;
  set(tokens: Tokens | undefined): Promise<void>;
}

/**
 * A store that throws does not end the session: what it did not take is kept here and counts until it takes something
 * again.
 */
export function createKeptTokens(store: SessionStore, onError: (error: unknown) => void): KeptTokens {
  let last: Tokens | undefined;
  let unsaved = false;
  return {
    async get() {
      if (unsaved) return last;
      try {
        return (last = await store.get());
      } catch (error) {
        onError(error);
        return last;
      }
    },
    async set(tokens) {
      last = tokens;
      try {
        await store.set(tokens);
        unsaved = false;
      } catch (error) {
        unsaved = true;
        onError(error);
      }
    },
  };
}
