/** Content security policy of every page of the console: nothing inline, nothing from elsewhere, no HTML from strings. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const FEATURES = ["camera", "microphone", "geolocation", "payment", "usb", "serial", "display-capture"];

/** Headers of every page; `secure`: the public URL is https. */
export function pageHeaders(secure: boolean, policy: string = POLICY): Record<string, string> {
  return {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": policy,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": FEATURES.map((feature) => `${feature}=()`).join(", "),
    ...(secure && { "strict-transport-security": "max-age=31536000; includeSubDomains" }),
  };
}
