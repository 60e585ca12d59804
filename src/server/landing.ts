import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { PlainHandler } from "./routes.ts";

/** A page a mailed link leads to. Opening it changes nothing: mail scanners open links too, so a person presses the button. */
interface Landing {
  title: string;
  text: string;
  button: string;
  /** Route the token is posted to; empty: the token is shown, to be copied. */
  action: string;
  done: string;
  /** What is asked for and sent along; what is left empty is not sent. */
  fields?: readonly Field[];
  /** Route that tells of the token, which is appended; its answer becomes the page's text. */
  about?: string;
}

/** One thing a page asks for. */
interface Field {
  name: string;
  label: string;
  /** Attributes of the input. */
  input: string;
}

const NEW_PASSWORD = `type="password" autocomplete="new-password" minlength="8" maxlength="1024" required`;

const LANDINGS: Readonly<Record<string, Landing>> = {
  "/magic-link": {
    title: "Sign in",
    text: "Press the button to sign in. The link works once.",
    button: "Sign in",
    action: "/api/auth/magic-link/verify",
    done: "You are signed in.",
  },
  "/confirm-email": {
    title: "Confirm your address",
    text: "Press the button to confirm that this mailbox is yours.",
    button: "Confirm",
    action: "/api/auth/email/confirm",
    done: "Your address is confirmed. You can close this page.",
  },
  "/reset-password": {
    title: "Set a new password",
    text: "Choose a password of at least 8 characters. You are signed out everywhere then, and sign in with the new one.",
    button: "Set password",
    action: "/api/auth/password/reset",
    done: "Your password is set. You can close this page and sign in.",
    fields: [{ name: "password", label: "New password", input: `${NEW_PASSWORD} autofocus` }],
  },
  "/step-up": {
    title: "Confirm that it is you",
    text: "Press the button for a code, and paste it where you were asked for it. It works once, in your session alone.",
    button: "Show the code",
    action: "",
    done: "",
  },
  "/invite": {
    title: "Join an organization",
    text: "If you have an account with this email, its present password is all that is needed.",
    button: "Accept",
    action: "/api/auth/invite/accept",
    done: "You have joined. You can close this page and sign in.",
    fields: [
      { name: "first_name", label: "First name", input: `autocomplete="given-name" maxlength="100"` },
      { name: "last_name", label: "Last name", input: `autocomplete="family-name" maxlength="100"` },
      { name: "username", label: "Username", input: `autocomplete="username" maxlength="64"` },
      { name: "password", label: "Password", input: NEW_PASSWORD },
      { name: "phone", label: "Phone, such as +4915112345678 (optional)", input: `type="tel" autocomplete="tel"` },
    ],
    about: "/api/auth/invite/",
  },
};

const SCRIPT = `
const token = new URLSearchParams(location.search).get("token");
const form = document.querySelector("form"), button = document.querySelector("button"), note = document.querySelector("output");
const inputs = [...document.querySelectorAll("input")], text = document.querySelector("p");
history.replaceState(null, "", location.pathname);
const nothing = (why) => { form.hidden = true; text.textContent = why; };
if (!token) nothing("The address is incomplete: open the link in the mail again.");
else if (form.dataset.about) fetch(form.dataset.about + encodeURIComponent(token)).then(async (response) => {
  const about = await response.json();
  if (!response.ok) { nothing(about.message); return; }
  document.title = document.querySelector("h1").textContent = "Join " + about.org_name;
  text.textContent = about.org_name + " invites " + about.email + " with the role " + about.role + ". " + text.textContent;
}).catch(() => undefined);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (button.disabled) return;
  button.disabled = true;
  if (button.dataset.action === "") { note.textContent = token; return; }
  const body = { token };
  for (const { name, value } of inputs) if (value !== "") body[name] = value;
  try {
    const response = await fetch(button.dataset.action, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    const sent = response.status === 204 ? {} : await response.json(), answer = sent.data ?? sent;
    if (inputs.length > 0 && (answer.errors || response.status === 409)) {
      button.disabled = false;
      note.textContent = answer.errors ? answer.errors.map((one) => one.field.replace("_", " ") + " " + one.message).join(", ") + "." : answer.message;
      return;
    }
    if (!response.ok) { note.textContent = response.status === 401 ? "The link has expired or was used before. Ask for a new one." : answer.message; return; }
    for (const input of inputs) input.value = "";
    form.hidden = text.hidden = true;
    note.textContent = answer.mfa_required ? "One more step: your second factor is asked for where you signed in." : button.dataset.done + (answer.user ? " " + answer.user.email : "");
    if (answer.redirect_to && !answer.mfa_required) location.assign(answer.redirect_to);
  } catch { button.disabled = false; note.textContent = "The service did not answer. Try again."; }
});`;

const STYLE = `
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6578; --paper: #fff; --ground: #f4f6f9; --accent: #3457d5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf2; --soft: #a0a9bb; --paper: #1b2130; --ground: #131824; } }
body { margin: 0; box-sizing: border-box; min-height: 100vh; padding: 24px 0; display: grid; place-items: center; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { width: min(92vw, 420px); box-sizing: border-box; padding: 32px; border-radius: 14px; background: var(--paper); }
h1 { margin: 0 0 8px; font-size: 22px; } p { margin: 0 0 20px; color: var(--soft); }
label { display: block; margin: 0 0 20px; } input { display: block; box-sizing: border-box; width: 100%; margin-top: 6px; padding: 10px; border: 1px solid var(--soft); border-radius: 8px; background: var(--paper); color: var(--ink); font: inherit; }
button { padding: 10px 20px; border: 0; border-radius: 8px; background: var(--accent); color: #fff; font: 600 16px system-ui, sans-serif; cursor: pointer; }
button:disabled { opacity: .5; cursor: default; } output { display: block; margin-top: 16px; overflow-wrap: anywhere; }`;

const scriptHash = createHash("sha256").update(SCRIPT).digest("base64");
const styleHash = createHash("sha256").update(STYLE).digest("base64");
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": `default-src 'none'; script-src 'sha256-${scriptHash}'; style-src 'sha256-${styleHash}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
};

function pageOf({ title, text, button, action, done, fields = [], about = "" }: Landing): string {
  const asked = fields.map(({ name, label, input }) => `<label>${label}<input ${input} name="${name}"></label>`).join("");
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · Atrium</title><style>${STYLE}</style></head>
<body><main><h1>${title}</h1><p>${text}</p><form data-about="${about}">${asked}<button data-action="${action}" data-done="${done}">${button}</button></form><output aria-live="polite"></output></main><script>${SCRIPT}</script></body></html>`;
}

/** The pages that mailed links lead to. */
export const landingPages: PlainHandler = (request, rawResponse) => {
  const landing = LANDINGS[request.url?.split("?")[0] ?? ""];
  if (landing === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false;
  // HTTP/2's response has the same two methods.
  const response = rawResponse as ServerResponse;
  response.writeHead(200, HEADERS);
  response.end(request.method === "HEAD" ? undefined : pageOf(landing));
  return true;
};
