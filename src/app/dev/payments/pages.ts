import { escapeHtml } from "../../../platform/html.ts";
import { minorDigits } from "../../../platform/iso-codes.ts";
import { refundedOf, totalOf } from "./ledger.ts";
import type { Checkout, Payment, Provider, Subscription } from "./ledger.ts";

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f2a; --soft: #5b6475; --paper: #fff; --ground: #f3f5f9; --line: #dde2ec;
  --main: #3b4fd8; --on-main: #fff; --bad: #b3261e; --good: #17724a; }
@media (prefers-color-scheme: dark) { :root { --ink: #eef1f8; --soft: #a3adc0; --paper: #1a1e29; --ground: #11141c;
  --line: #303747; --main: #8b9bff; --on-main: #11141c; --bad: #ff9d95; --good: #6fd6a4; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; background: var(--ground); color: var(--ink); display: grid; place-items: center;
  padding: 1.5rem 1rem; font: 1rem/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 26rem; background: var(--paper); border: 1px solid var(--line); border-radius: 16px;
  padding: clamp(1.25rem, 5vw, 2rem); box-shadow: 0 12px 32px rgb(20 30 60 / 10%); }
.test { display: inline-block; font-size: .8125rem; font-weight: 600; color: var(--soft); border: 1px solid var(--line);
  border-radius: 99px; padding: .125rem .75rem; margin-bottom: 1rem; }
h1 { font-size: 1.25rem; line-height: 1.3; margin: 0; } h2 { font-size: 1rem; margin: 1.75rem 0 .5rem; }
.total { font-size: 2.25rem; font-weight: 700; letter-spacing: -.02em; margin: .25rem 0 1rem; }
.per { font-size: 1rem; font-weight: 400; color: var(--soft); letter-spacing: 0; }
ul { list-style: none; margin: 0 0 1.5rem; padding: 0; border-top: 1px solid var(--line); }
li { display: flex; justify-content: space-between; gap: 1rem; padding: .625rem 0;
  border-bottom: 1px solid var(--line); }
li span:first-child { overflow-wrap: anywhere; } li span:last-child { white-space: nowrap; }
form { display: grid; gap: .75rem; } p { color: var(--soft); margin: .75rem 0; } .bad { color: var(--bad); }
.good { color: var(--good); }
button, a.button { font: inherit; font-weight: 600; min-height: 3rem; padding: .625rem 1rem; border-radius: 10px;
  border: 1px solid var(--line); background: transparent; color: var(--ink); cursor: pointer; text-align: center;
  text-decoration: none; display: grid; place-items: center; width: 100%; }
.main { background: var(--main) !important; color: var(--on-main) !important; border-color: var(--main) !important; }
button:hover, a.button:hover { filter: brightness(1.08); }
:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
.box { border: 1px solid var(--line); border-radius: 12px; padding: 1rem; margin: .75rem 0; }
.box p { margin: .25rem 0 1rem; }
`;

const NAMES = { stripe: "Stripe", paddle: "Paddle" } as const;

/** Decimal places of Stripe's amounts where they are not those of ISO 4217. */
const STRIPE_DIGITS: Readonly<Record<string, number>> = { isk: 2, ugx: 2, mga: 0 };

/** An amount of a provider's units for people. */
function money(amount: number, currency: string, provider: Provider): string {
  const digits = (provider === "stripe" ? STRIPE_DIGITS[currency] : undefined) ?? minorDigits(currency) ?? 2;
  const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat("en", { style: "currency", currency, ...fixed }).format(amount / 10 ** digits);
}

const day = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleDateString("en", { dateStyle: "long", timeZone: "UTC" });

function page(title: string, content: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<style>${STYLE}</style></head><body><main>${content}</main></body></html>`;
}

const badge = (name: string): string => `<span class="test">${name} in development: no real money</span>`;

/** The page of a checkout that can be paid. */
export function checkoutPage(checkout: Checkout, wasDeclined: boolean): string {
  const { provider, items, currency, interval, cancelUrl } = checkout;
  const rows = items.map(({ name, amount, quantity }) => {
    const label = quantity === 1 ? escapeHtml(name) : `${escapeHtml(name)} × ${quantity}`;
    return `<li><span>${label}</span><span>${money(amount * quantity, currency, provider)}</span></li>`;
  });
  const per = interval === null ? "" : ` <span class="per">per ${interval}</span>`;
  const declined = `<p class="bad" role="alert">The card was declined. Nothing was paid; you can try again.</p>`;
  return page(
    "Checkout",
    `${badge(NAMES[provider])}<h1>Your order</h1>
<div class="total">${money(totalOf(checkout), currency, provider)}${per}</div><ul>${rows.join("")}</ul>
${wasDeclined ? declined : ""}<form method="post">
<button class="main" name="act" value="pay">Pay ${money(totalOf(checkout), currency, provider)}</button>
<button name="act" value="decline">Decline the card</button>
<button name="act" value="leave">Leave without paying</button></form>
${cancelUrl === null ? "<p>After paying, return to the page that sent you here.</p>" : ""}`,
  );
}

/** A page that says one thing, with a way on where there is one. */
export const messagePage = (title: string, text: string, isGood: boolean, next: string | null): string =>
  page(
    title,
    `<h1 class="${isGood ? "good" : ""}">${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p>
${next === null ? "" : `<a class="button main" href="${escapeHtml(next)}">Continue</a>`}`,
  );

/** The customer portal. */
export function portalPage(
  subscriptions: readonly Subscription[],
  payments: readonly Payment[],
  provider: keyof typeof NAMES,
  returnUrl: string | null,
): string {
  const boxes = subscriptions.map((subscription) => {
    const { id, checkout, status, isEnding, end } = subscription;
    const state =
      status === "canceled"
        ? "Ended"
        : `${status === "active" ? "Active" : "Payment overdue"}, ${isEnding ? "ends" : "renews"} on ${day(end)}`;
    const acts = [
      ...(isEnding ? [] : [["cancel", "Cancel at the end of the period"]]),
      ["renew", "Development: renew now"],
      ["fail", "Development: let the renewal fail"],
      ["end", "Development: end now"],
    ];
    const buttons = acts.map(([act, label]) => `<button name="act" value="${act} ${id}">${label}</button>`);
    const price = `${money(totalOf(checkout), checkout.currency, provider)} per ${checkout.interval}`;
    const form = status === "canceled" ? "" : `<form method="post">${buttons.join("")}</form>`;
    const name = escapeHtml(checkout.items[0]?.name ?? "");
    return `<div class="box"><strong>${name}</strong>, ${price}<p>${state}</p>${form}</div>`;
  });
  const rows = payments.map((payment) => {
    const { id, total, currency, at, paid } = payment;
    const refunded = refundedOf(payment);
    const failed = paid ? "" : ' <span class="bad">failed</span>';
    const back = refunded === 0 ? "" : ` <span>${money(refunded, currency, provider)} refunded</span>`;
    const row = `<li><span>${day(at)}${failed}${back}</span><span>${money(total, currency, provider)}</span></li>`;
    if (!paid || refunded >= total) return row;
    const label = `Development: refund ${money(total - refunded, currency, provider)}`;
    return `${row}<li><form method="post"><button name="act" value="refund ${id}">${label}</button></form></li>`;
  });
  return page(
    "Customer portal",
    `${badge(NAMES[provider])}<h1>Your subscriptions</h1>
${boxes.join("") || "<p>You have no subscription.</p>"}<h2>Payments</h2>
${rows.length === 0 ? "<p>Nothing was paid yet.</p>" : `<ul>${rows.join("")}</ul>`}
${returnUrl === null ? "" : `<a class="button main" href="${escapeHtml(returnUrl)}">Return</a>`}`,
  );
}
