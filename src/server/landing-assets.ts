/**
 * Script of every landing page. It posts the token when the person presses the button, asks for the second factor when
 * the response requires it, and shows a link to continue only to an origin that the service knows.
 */
export const SCRIPT = `
const token = new URLSearchParams(location.search).get("token");
history.replaceState(null, "", location.pathname);
const one = (selector) => document.querySelector(selector);
const main = one("main"), form = one("form"), title = one("h1"), text = one("p"), button = one("button"), note = one("output");
const code = document.createElement("input"), fields = [...document.querySelectorAll("input[data-field]")];
const { action, about, doneTitle, done, origins, loopback } = form.dataset;
let mfaToken, goal;

const say = (message, kind) => { note.textContent = message; note.className = kind; };
const stop = (message) => { form.hidden = true; text.textContent = message; };
const local = (host) => host === "localhost" || host === "[::1]" || /^127(\\.\\d+){3}$/.test(host);
const known = (url) => JSON.parse(origins).includes(url.origin) || (loopback === "true" && local(url.hostname));

async function post(path, body) {
  const response = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const sent = response.status === 204 ? {} : await response.json();
  return { ok: response.ok, status: response.status, answer: sent.data ?? sent };
}

function refuse({ status, answer }) {
  if (mfaToken !== undefined) {
    if (answer.code === "unauthorized") say("The code is wrong, expired or was used before. Open the link of a new mail if another one does not work either.", "bad");
    else say(answer.message, "bad");
    button.disabled = false;
  } else if (fields.length > 0 && (answer.errors || status === 409)) {
    say(answer.errors ? answer.errors.map((one) => one.field.replace("_", " ") + " " + one.message).join(", ") + "." : answer.message, "bad");
    button.disabled = false;
  } else if (status === 429 || status === 503) {
    say(answer.message, "bad");
    button.disabled = false;
  } else {
    stop(status === 401 ? "The link has expired or was used before. Ask for a new one." : answer.message);
    say("", "");
  }
}

function askFactor(answer) {
  mfaToken = answer.mfa_token;
  goal = answer.redirect_to ?? goal;
  for (const input of fields) input.closest("label").hidden = input.disabled = true;
  const label = document.createElement("label");
  Object.assign(code, { autocomplete: "one-time-code", autocapitalize: "off", spellcheck: false, maxLength: 64, required: true });
  label.append("Code", code);
  button.before(label);
  title.textContent = "Second factor";
  text.textContent = "Enter the code of your authenticator app, or a recovery code. If you never set up a second factor and the mail has a link that ends the account, somebody else made it: use that link.";
  button.textContent = "Continue";
  button.disabled = false;
  say("", "");
  code.focus();
}

function finish(answer) {
  goal = answer.redirect_to ?? goal;
  for (const input of [...fields, code]) input.value = "";
  main.classList.add("done");
  document.title = title.textContent = doneTitle;
  const url = goal ? new URL(goal) : undefined;
  const signedIn = done + (answer.user ? " as " + answer.user.email : "") + "." + (url ? "" : " You can close this page.");
  stop(action.endsWith("magic-link/verify") ? signedIn : done);
  say("", "");
  if (url === undefined) return;
  if (!known(url)) { say("The link names " + url.host + ", which this service does not know. It was not opened.", "bad"); return; }
  const link = document.createElement("a");
  link.href = url.href;
  link.rel = "noreferrer";
  link.className = "go";
  link.textContent = "Continue to " + url.host;
  main.append(link);
  link.focus();
}

if (!token) stop("The address is incomplete: open the link in the mail again.");
else if (about) fetch(about + encodeURIComponent(token)).then(async (response) => {
  const invitation = await response.json();
  if (!response.ok) { stop(invitation.message); return; }
  document.title = title.textContent = "Join " + invitation.org_name;
  text.textContent = invitation.org_name + " invites " + invitation.email + " with the role " + invitation.role + ". " + text.textContent;
}).catch(() => undefined);

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (button.disabled) return;
  if (action === "") { form.hidden = true; text.textContent = "Your code:"; say(token, "code"); return; }
  button.disabled = true;
  const body = { token };
  for (const { name, value } of fields) if (value !== "") body[name] = value;
  const typed = code.value.replace(/\\s/g, "");
  try {
    const reply = mfaToken === undefined
      ? await post(action, body)
      : await post("api/auth/mfa/totp/challenge", { mfa_token: mfaToken, code: typed, recovery: !/^\\d{6}$/.test(typed) });
    if (!reply.ok) refuse(reply);
    else if (reply.answer.mfa_required) askFactor(reply.answer);
    else finish(reply.answer);
  } catch { button.disabled = false; say("The service did not answer. Try again.", "bad"); }
});`;

export const STYLE = `
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6578; --line: #d5dae3; --paper: #fff; --ground: #f1f4f9; --accent: #3457d5; --bad: #b3261e; --good: #1a7f4b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf2; --soft: #a0a9bb; --line: #39435a; --paper: #1b2130; --ground: #11151f; --accent: #5b7bea; --bad: #ff8a80; --good: #5fd39a; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; min-height: 100vh; padding: 24px 16px; display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 20px; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header { display: flex; align-items: center; gap: 10px; font-weight: 650; letter-spacing: .01em; }
header::before { content: ""; width: 22px; height: 22px; border-radius: 7px; background: var(--accent); box-shadow: inset 0 0 0 6px var(--accent), inset 0 0 0 20px var(--ground); }
main { width: min(100%, 440px); padding: 36px; border: 1px solid var(--line); border-radius: 16px; background: var(--paper); box-shadow: 0 1px 2px rgb(0 0 0 / .04), 0 12px 32px rgb(0 0 0 / .06); }
h1 { margin: 0 0 10px; font-size: 24px; line-height: 1.25; letter-spacing: -.01em; overflow-wrap: anywhere; } p { margin: 0 0 24px; color: var(--soft); overflow-wrap: anywhere; }
.done h1::before { content: "\\2713"; display: grid; place-items: center; width: 40px; height: 40px; margin-bottom: 16px; border-radius: 50%; background: color-mix(in srgb, var(--good) 15%, transparent); color: var(--good); font-size: 20px; }
.done p { margin: 0; }
label { display: block; margin: 0 0 18px; font-size: 14px; font-weight: 550; }
input { display: block; width: 100%; margin-top: 6px; padding: 11px 12px; border: 1px solid var(--line); border-radius: 9px; background: var(--paper); color: var(--ink); font: inherit; font-weight: 400; }
input:focus-visible, button:focus-visible, .go:focus-visible { outline: 3px solid color-mix(in srgb, var(--accent) 45%, transparent); outline-offset: 2px; }
button, .go { display: block; width: 100%; padding: 12px 20px; border: 0; border-radius: 9px; background: var(--accent); color: #fff; font: 600 16px/1.4 system-ui, sans-serif; text-align: center; text-decoration: none; overflow-wrap: anywhere; cursor: pointer; }
button.grave { background: #b3261e; } button:disabled { opacity: .5; cursor: default; } .go { margin-top: 24px; }
output { display: block; margin-top: 18px; font-size: 14px; overflow-wrap: anywhere; } output:empty { display: none; } output.bad { color: var(--bad); }
output.code { margin: 0; padding: 14px; border: 1px dashed var(--line); border-radius: 9px; font: 15px ui-monospace, monospace; user-select: all; }`;
