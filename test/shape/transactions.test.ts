import { expect, it } from "vitest";
import { codeOf, filesBelow } from "./sources.ts";

/**
 * Files of domains that open transactions without the context of a request, and why none of them writes for a caller
 * whose power must be checked again.
 */
const WITHOUT_CONTEXT: Readonly<
  Record<string, "background" | "start" | "read or refusal" | "start or refusal" | "refusal">
> = {
  "src/domains/audit-record/record.ts": "refusal",
  "src/domains/auth-events/chain/verify.ts": "read or refusal",
  "src/domains/auth-events/export/export.ts": "read or refusal",
  "src/domains/billing/checkout/checkout.ts": "read or refusal",
  "src/domains/billing/checkout/payer.ts": "read or refusal",
  "src/domains/billing/checkout/store.ts": "read or refusal",
  "src/domains/billing/payments/ending.ts": "background",
  "src/domains/billing/payments/inbox.ts": "background",
  "src/domains/billing/quotes/tidy.ts": "background",
  "src/domains/billing/reconcile/reconcile.ts": "background",
  "src/domains/invitations/manage.ts": "read or refusal",
  "src/domains/login/bootstrap.ts": "start",
  "src/domains/login/operator-reset.ts": "start",
  "src/domains/login/password-change.ts": "read or refusal",
  "src/domains/login/password.ts": "background",
  "src/domains/marketplace/installs/activities.ts": "background",
  "src/domains/marketplace/installs/publisher.ts": "background",
  "src/domains/marketplace/organization-end.ts": "background",
  "src/domains/mfa/change-budget.ts": "read or refusal",
  "src/domains/mfa/proof.ts": "read or refusal",
  "src/domains/mtls-ca/revocation-lists.ts": "background",
  "src/domains/mtls-ca/tidy.ts": "background",
  "src/domains/scim/lists/list.ts": "read or refusal",
  "src/domains/sessions/accounts.ts": "read or refusal",
  "src/domains/sessions/inventory.ts": "read or refusal",
  "src/domains/signing-keys/activities.ts": "background",
  "src/domains/signing-keys/signing-keys.ts": "background",
  "src/domains/signing-keys/signing.ts": "start",
  "src/domains/spiffe/crl.ts": "background",
  "src/domains/spiffe/roots.ts": "background",
  "src/domains/step-up/step-up.ts": "read or refusal",
  "src/domains/vault/seal.ts": "start or refusal",
  "src/domains/webhooks/activities.ts": "background",
  "src/domains/webhooks/failure-recorder.ts": "background",
  "src/domains/webhooks/recovery.ts": "background",
};

it("a use case opens its transactions by the context of its request", () => {
  const without = filesBelow("src/domains", [".ts"]).filter((file) =>
    /\b(?:database|background)\.transaction\(/u.test(codeOf(file)),
  );
  expect(without).toEqual(Object.keys(WITHOUT_CONTEXT));
});

it("no transaction of a domain is given its caller by hand", () => {
  const byHand = filesBelow("src/domains", [".ts"]).filter((file) =>
    /\}, (?:caller|context\.caller)\)/u.test(codeOf(file)),
  );
  expect(byHand).toEqual([]);
});
