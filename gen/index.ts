// Generated from the contract by `npm run generate`; do not edit.
/* eslint-disable */

export * as access from "./atrium/access/v1/index.ts";
export * as authEvents from "./atrium/auth_events/v1/index.ts";
export * as billing from "./atrium/billing/v1/index.ts";
export * as common from "./atrium/common/v1/index.ts";
export * as credentials from "./atrium/credentials/v1/index.ts";
export * as gateway from "./atrium/gateway/v1/index.ts";
export * as login from "./atrium/login/v1/index.ts";
export * as marketplace from "./atrium/marketplace/v1/index.ts";
export * as mfa from "./atrium/mfa/v1/index.ts";
export * as mtlsCa from "./atrium/mtls_ca/v1/index.ts";
export * as oidc from "./atrium/oidc/v1/index.ts";
export * as operator from "./atrium/operator/v1/index.ts";
export * as options from "./atrium/options/v1/index.ts";
export * as rbac from "./atrium/rbac/v1/index.ts";
export * as scim from "./atrium/scim/v1/index.ts";
export * as serviceIdentities from "./atrium/service_identities/v1/index.ts";
export * as sessions from "./atrium/sessions/v1/index.ts";
export * as signingKeys from "./atrium/signing_keys/v1/index.ts";
export * as spiffe from "./atrium/spiffe/v1/index.ts";
export * as stepUp from "./atrium/step_up/v1/index.ts";
export * as templates from "./atrium/templates/v1/index.ts";
export * as users from "./atrium/users/v1/index.ts";
export * as vault from "./atrium/vault/v1/index.ts";
export * as webhooks from "./atrium/webhooks/v1/index.ts";
export { services } from "./services.ts";
