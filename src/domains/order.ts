import { composition } from "../platform/composition.ts";
import type { Ground } from "../platform/domain.ts";
import { accessDomain } from "./access/index.ts";
import { auditRecordDomain } from "./audit-record/index.ts";
import { authEventsDomain } from "./auth-events/index.ts";
import { billingDomain } from "./billing/index.ts";
import { credentialsDomain } from "./credentials/index.ts";
import { eventCatalogueDomain } from "./event-catalogue/index.ts";
import { gatewayDomain } from "./gateway/index.ts";
import { invitationsDomain } from "./invitations/index.ts";
import { livenessDomain } from "./liveness/index.ts";
import { loginDomain } from "./login/index.ts";
import { marketplaceDomain } from "./marketplace/index.ts";
import { mfaDomain } from "./mfa/index.ts";
import { mtlsCaDomain } from "./mtls-ca/index.ts";
import { oidcDomain } from "./oidc/index.ts";
import { offboardingDomain } from "./offboarding/index.ts";
import { operatorDomain } from "./operator/index.ts";
import { organizationsDomain } from "./organizations/index.ts";
import { peopleDomain } from "./people/index.ts";
import { rbacDomain } from "./rbac/index.ts";
import { serviceIdentitiesDomain } from "./service-identities/index.ts";
import { scimDomain } from "./scim/index.ts";
import { sessionsDomain } from "./sessions/index.ts";
import { signingKeysDomain } from "./signing-keys/index.ts";
import { spiffeDomain } from "./spiffe/index.ts";
import { stepUpDomain } from "./step-up/index.ts";
import { templatesDomain } from "./templates/index.ts";
import { usersDomain } from "./users/index.ts";
import { vaultDomain } from "./vault/index.ts";
import { webhooksDomain } from "./webhooks/index.ts";

/**
 * Every domain, from the ground up: the one place where a domain is registered. A domain is built on those before it,
 * and imports only these, and of these only `index.ts`; the program, the README and `test/shape` read this list.
 */
export const DOMAINS = composition<Ground>()
  .add(auditRecordDomain)
  .add(eventCatalogueDomain)
  .add(organizationsDomain)
  .add(peopleDomain)
  .add(signingKeysDomain)
  .add(authEventsDomain)
  .add(accessDomain)
  .add(rbacDomain)
  .add(livenessDomain)
  .add(sessionsDomain)
  .add(webhooksDomain)
  .add(credentialsDomain)
  .add(serviceIdentitiesDomain)
  .add(mfaDomain)
  .add(stepUpDomain)
  .add(marketplaceDomain)
  .add(billingDomain)
  .add(vaultDomain)
  .add(invitationsDomain)
  .add(mtlsCaDomain)
  .add(spiffeDomain)
  .add(offboardingDomain)
  .add(oidcDomain)
  .add(loginDomain)
  .add(usersDomain)
  .add(templatesDomain)
  .add(gatewayDomain)
  .add(scimDomain)
  .add(operatorDomain);

/** Every domain, built. */
export type Domains = ReturnType<typeof DOMAINS.build>;
