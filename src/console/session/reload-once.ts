/** Also written by `style/missing.js`, which runs before any module. */
const KEY = "atrium.reloaded";
/** A page that was reloaded within this time is not helped by another reload, milliseconds. */
const AGAIN_MS = 60_000;

/** Errors of a script or style sheet of the console that could not be fetched, as the browsers and Vite word them. */
const MISSING = /dynamically imported module|Importing a module script failed|Unable to preload CSS/iu;

export const isMissingPart = (error: unknown): boolean => error instanceof Error && MISSING.test(error.message);

/** Whether a reload may help: the page was not reloaded just before. Notes that it is. */
export function mayReload(): boolean {
  const now = Date.now();
  try {
    if (now - Number(sessionStorage.getItem(KEY)) < AGAIN_MS) return false;
    sessionStorage.setItem(KEY, String(now));
    return true;
  } catch {
    // Storage is full or not permitted: nothing would end a loop.
    return false;
  }
}
