/** The tokens of a session. */
export interface Tokens {
  accessToken: string;
  /** Absent in cookie mode, and for a session that cannot be refreshed (a magic link's). */
  refreshToken?: string | undefined;
  /** When the access token expires, in milliseconds since 1970 by the client's clock. */
  expiresAtMs: number;
}

/** Where the tokens of a session are kept. Several clients may share one store. */
export interface SessionStore {
  get(): Tokens | undefined | Promise<Tokens | undefined>;
  /** Undefined removes them. */
  set(tokens: Tokens | undefined): void | Promise<void>;
  /**
   * Runs `work` while no other client of the store does. Without it, clients that refresh at the same moment depend on
   * the service, which returns the same successor for ten seconds.
   */
  lock?<T>(work: () => Promise<T>): Promise<T>;
}

/** The parts of the browser that are used; none of them needs to exist. */
interface Browser {
  localStorage?: {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
  };
  navigator?: { locks?: { request<T>(name: string, work: () => Promise<T>): Promise<T> } };
}

const browser = globalThis as Browser;

/** Runs `work` while no other tab of the origin holds the lock of that name. */
export async function lockAcrossTabs<T>(name: string, work: () => Promise<T>): Promise<T> {
  const locks = browser.navigator?.locks;
  if (locks === undefined) return work();
  let begun = false;
  try {
    return await locks.request(name, () => {
      begun = true;
      return work();
    });
  } catch (error) {
    if (begun) throw error;
    // A browser that blocks the cookies of a page permits it no lock either.
    return work();
  }
}

/** Keeps the tokens in this program only; they are gone with it. */
export function memoryStore(): SessionStore {
  let present: Tokens | undefined;
  return {
    get: () => present,
    set: (tokens) => {
      present = tokens;
    },
  };
}

/**
 * Keeps the tokens in `localStorage`, for all tabs of the origin. Scripts of the page can read it: where the page has
 * the origin of the service, cookie mode is safer.
 */
export function localStorageStore(key = "atrium.session"): SessionStore {
  const storage = browser.localStorage;
  if (storage === undefined) throw new TypeError("There is no localStorage here; pass another store.");
  return {
    get() {
      const text = storage.getItem(key);
      return text === null ? undefined : read(text);
    },
    set(tokens) {
      if (tokens === undefined) storage.removeItem(key);
      else storage.setItem(key, JSON.stringify(tokens));
    },
    lock: (work) => lockAcrossTabs(key, work),
  };
}

/** What somebody else wrote under the key counts as nothing. */
function read(text: string): Tokens | undefined {
  try {
    const tokens = JSON.parse(text) as Partial<Tokens> | null;
    const known = typeof tokens?.accessToken === "string" && typeof tokens.expiresAtMs === "number";
    return known ? (tokens as Tokens) : undefined;
  } catch {
    return undefined;
  }
}
