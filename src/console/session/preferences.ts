import { useSyncExternalStore } from "react";
import { createStore } from "./store.ts";

/** What a browser remembers; none of it is a credential. */
export interface Preferences {
  theme: "system" | "light" | "dark";
  /** IANA name; `local`: that of the browser. */
  timeZone: string;
  /** Whether single keys are shortcuts (WCAG 2.1.4). */
  shortcuts: boolean;
  /** Whether the session outlives the browser window. */
  keepSignedIn: boolean;
}

const KEY = "atrium.preferences";
const DEFAULTS: Preferences = { theme: "system", timeZone: "local", shortcuts: true, keepSignedIn: false };

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Preferences>) };
  } catch {
    return DEFAULTS;
  }
}

const store = createStore(read());

function apply({ theme }: Preferences): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export const preferences = store.get;

export function setPreferences(changes: Partial<Preferences>): void {
  const next = { ...store.get(), ...changes };
  store.set(next);
  apply(next);
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // Storage is full or not permitted: the choice holds for this page.
  }
}

export const usePreferences = (): Preferences => useSyncExternalStore(store.subscribe, store.get);

// Another tab changed them.
addEventListener("storage", ({ key }) => {
  if (key !== KEY) return;
  store.set(read());
  apply(store.get());
});

const DEVICE = "atrium.device";

/** Where storage is full or not permitted, the id holds for this page. */
let made: string | undefined;

/** Id of this browser, which doors and the session inventory show; it proves nothing. */
export function deviceUuid(): string {
  try {
    const known = localStorage.getItem(DEVICE);
    if (known !== null) return known;
    made ??= crypto.randomUUID();
    localStorage.setItem(DEVICE, made);
  } catch {
    made ??= crypto.randomUUID();
  }
  return made;
}
