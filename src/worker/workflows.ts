// All workflows of the worker. Re-exports only: this file is the entry of the workflow bundle.
export { driveInstall } from "../domains/marketplace/workflows/drive-install.ts";
export { reconcilePayments } from "../domains/billing/workflows/reconcile-payments.ts";
export { retryDeliveries } from "../domains/webhooks/workflows/retry-deliveries.ts";
export { rotateKey } from "../domains/signing-keys/workflows/rotate-key.ts";
