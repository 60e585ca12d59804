/** What is used of Standard Webhooks; `npm run pack:clients` puts the code itself here. */
export { Webhook, WebhookVerificationError } from "standardwebhooks";
