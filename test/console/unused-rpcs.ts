import { rpcNames } from "./rpcs-in-use.ts";

/** Rpcs that no page is meant to use, by the reason. */
export const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  "SCIM is for the identity provider's program; the page shows where it points": [
    ...rpcNames.filter((name) => name.startsWith("ScimService.")),
  ],
  "the caller is a program that proves itself by a signature": [
    "BillingService.receiveProviderEvent",
    "PublisherService.reportProvisioning",
  ],
  "programs record meter events": ["BillingService.recordEvents"],
  "the browser is sent there; the answer is a redirect": ["OidcService.authorize", "OidcService.callback"],
  "the identity provider calls it": ["OidcService.backchannelLogout"],
  "verifiers of tokens and certificates read it; pages link to it": [
    "LoginService.getInstanceJwks",
    "SpiffeService.getRootCertificate",
    "SpiffeService.getSpiffeBundle",
    "SpiffeService.getRevocationList",
  ],
  "probes and collectors of figures read it": [
    "OperatorService.getHealth",
    "OperatorService.getMetrics",
    "OperatorService.getReadiness",
  ],
  "a card is entered on the provider's own page, whose script the console does not load": ["BillingService.addCard"],
  "the client refreshes the session by itself": ["LoginService.refresh"],
  "for backends: pages read the caller's own rights from GetMe, and explain access by CheckEntitlements": [
    "AccessService.checkEntitlement",
  ],
  "the same as an rpc that a page uses, in another version or for one thing alone": [
    "RbacService.listProductPermissions",
    "RbacService.listProductRoles",
    "RbacService.assignRole",
    "OidcService.getConnection",
    "PublisherService.getAppInstall",
    "SessionsService.revokeOrganizationSessions",
    "SpiffeService.listSvids",
    "SessionsService.listDeviceSessions",
    "StepUpService.getStepUpStatus",
    "AuthEventsService.listAuthEvents",
    "AuthEventsService.getAuthEvent",
    "AuthEventsService.listOrganizationAuthEvents",
  ],
  "superusers look it up by hand; no page depends on it": ["LoginService.getSuperuser"],
};
