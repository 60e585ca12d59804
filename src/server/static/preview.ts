import { createHash } from "node:crypto";

/**
 * Shows the HTML of the first message of the page that contains the frame. `innerHTML` runs no script, and the policy
 * permits no event handler, no request and no remote image.
 */
const SCRIPT = `addEventListener("message", (event) => {
  if (event.source === parent) document.documentElement.innerHTML = String(event.data);
}, { once: true });`;

const HASH = createHash("sha256").update(SCRIPT).digest("base64");

/** The page in which the console shows the HTML of a template, in an origin of its own. */
export const PREVIEW_PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Preview</title></head><body><script>${SCRIPT}</script></body></html>`;

/** Content security policy of {@link PREVIEW_PAGE}. */
export const PREVIEW_POLICY = [
  "default-src 'none'",
  `script-src 'sha256-${HASH}'`,
  "style-src 'unsafe-inline'",
  "img-src data:",
  "frame-ancestors 'self'",
  "sandbox allow-scripts",
].join("; ");
