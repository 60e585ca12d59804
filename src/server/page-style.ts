/** Style of pages that the service writes itself, without a script: errors that a browser opened. */
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
