import { alertToast } from "./toasts.ts";

/**
 * Copies a text. Where the browser refuses, as by its settings and on pages without TLS, that is said.
 * @returns whether the text is in the clipboard
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const message = "The browser did not copy it. Show the text, select it, and copy it by keyboard.";
    alertToast({ message, requestId: undefined });
    return false;
  }
}
