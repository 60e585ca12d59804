import type { MigrationObject } from "../platform/db/migrator.ts";
import { foundation } from "./0001-foundation.ts";
import { identity } from "./0002-identity.ts";
import { marketplace } from "./0003-marketplace.ts";
import { developmentMailbox } from "./0004-mailbox.ts";
import { mfa } from "./0005-mfa.ts";
import { people } from "./0006-people.ts";
import { webhookDeliveries } from "./0007-webhooks.ts";
import { devicesAndCodes } from "./0008-devices.ts";
import { credentialTables } from "./0009-credentials.ts";
import { auditChain } from "./0010-audit-chain.ts";
import { trace } from "./0011-trace.ts";
import { liveness } from "./0012-liveness.ts";
import { webhookEnds } from "./0013-webhook-ends.ts";
import { auditLists } from "./0014-audit-lists.ts";
import { searchWords } from "./0015-search-words.ts";
import { expiryIndexes } from "./0016-expiries.ts";
import { catalogueSize } from "./0017-catalogue-size.ts";
import { refreshedRows } from "./0018-refreshed-rows.ts";
import { waitingForWorkflows } from "./0019-waiting-for-workflows.ts";
import { webhookLeases } from "./0020-webhook-leases.ts";
import { standing } from "./0021-standing.ts";
import { mailboxes } from "./0022-mailboxes.ts";
import { derivedCredentials } from "./0023-derived-credentials.ts";
import { keyCheckTable } from "./0024-key-checks.ts";
import { webhookShares } from "./0025-webhook-shares.ts";
import { outboxTopics } from "./0026-outbox-topics.ts";
import { appLiveness } from "./0027-app-liveness.ts";
import { ordersOfLists } from "./0028-orders-of-lists.ts";
import { signingKeyUses } from "./0029-signed-until.ts";
import { invitationSenders } from "./0031-invitation-senders.ts";
import { endsOfRows } from "./0040-ends.ts";
import { serviceIdentityTables } from "./0041-service-identities.ts";
import { credentialChanges } from "./0041-credential-changes.ts";
import { identitySenders } from "./0041-identity-senders.ts";
import { identityMakers } from "./0041-identity-makers.ts";
import { vaultTables } from "./0042-vault.ts";
import { mtlsCaTables } from "./0043-mtls-ca.ts";
import { spiffeRoots } from "./0044-spiffe.ts";
import { listenerCertificates } from "./0045-mtls-listener.ts";
import { movableKeyChecks } from "./0046-rewrap.ts";
import { oidcLogouts } from "./0063-oidc-logouts.ts";
import { oidcTables } from "./0047-oidc.ts";
import { scim } from "./0048-scim.ts";
import { billingTables } from "./0049-billing.ts";
import { paymentTables } from "./0050-payments.ts";
import { templateTables } from "./0051-templates.ts";
import { gatewayTables } from "./0052-gateway.ts";
import { scimValues } from "./0056-scim-values.ts";
import { meterPartitions } from "./0057-meter-partitions.ts";
import { paidQuotes } from "./0058-paid-quotes.ts";
import { statistics } from "./0059-statistics.ts";
import { identityPublishers } from "./0065-identity-publishers.ts";
import { oidcOwnLinks } from "./0094-oidc-own-links.ts";
import { oidcRedeem } from "./0095-oidc-redeem.ts";
import { watchedChanges } from "./0060-watched-changes.ts";
import { waitingEvents } from "./0062-waiting-events.ts";
import { expectations } from "./0080-expectations.ts";
import { billingOperations } from "./0061-billing-operations.ts";
import { endedRows } from "./0100-ended-rows.ts";
import { openStreamCounts } from "./0101-open-streams.ts";
import { nextAttempts } from "./0102-next-attempts.ts";
import { purchases } from "./0103-purchases.ts";
import { organizationsByCreation } from "./0104-organizations-by-creation.ts";
import { svidIssuers } from "./0087-svid-issuers.ts";
import { customerOrganizations } from "./0090-customer-organizations.ts";
import { boughtPlans } from "./0092-bought-plans.ts";
import { endedCloudTargets } from "./0093-ended-cloud-targets.ts";
import { webhookSteps } from "./0105-webhook-steps.ts";
import { paddleCustomers } from "./0106-paddle-customers.ts";
import { sessionProviders } from "./0109-session-providers.ts";
import { oidcRedeemOrder } from "./0111-oidc-redeem-order.ts";
import { lowerCaseOfLists } from "./0112-lower-case.ts";
import { wrongCodes } from "./0096-wrong-codes.ts";
import { signInAddresses } from "./0097-sign-in-addresses.ts";
import { ordersOfLongLists } from "./0098-orders-of-long-lists.ts";
import { webhookTallies } from "./0121-webhook-tallies.ts";
import { roomForLeases } from "./0122-room-for-leases.ts";
import { foldersOfSecrets } from "./0123-folders-of-secrets.ts";
import { subscribedEvents } from "./0124-subscribed-events.ts";
import { sessionPurges } from "./0125-session-purges.ts";
import { filtersOfLists } from "./0129-filters-of-lists.ts";
import { auditIndexes } from "./0130-audit-indexes.ts";
import { boundedChanges } from "./0132-bounded-changes.ts";
import { scimGroupOrder } from "./0133-scim-group-order.ts";
import { directoryMoves } from "./0120-directory-moves.ts";
import { openCheckouts } from "./0119-open-checkouts.ts";
import { olderInstances } from "./0113-older-instances.ts";

/** Every migration of every domain, in the order they run. Append only: a released migration never changes. */
export const migrations: readonly MigrationObject[] = [
  foundation,
  identity,
  marketplace,
  developmentMailbox,
  mfa,
  people,
  webhookDeliveries,
  devicesAndCodes,
  credentialTables,
  auditChain,
  trace,
  liveness,
  webhookEnds,
  auditLists,
  searchWords,
  expiryIndexes,
  catalogueSize,
  refreshedRows,
  waitingForWorkflows,
  webhookLeases,
  standing,
  mailboxes,
  derivedCredentials,
  keyCheckTable,
  webhookShares,
  outboxTopics,
  appLiveness,
  ordersOfLists,
  signingKeyUses,
  invitationSenders,
  endsOfRows,
  serviceIdentityTables,
  vaultTables,
  mtlsCaTables,
  spiffeRoots,
  listenerCertificates,
  movableKeyChecks,
  oidcTables,
  scim,
  billingTables,
  paymentTables,
  templateTables,
  // After the tables whose changes it tells of.
  credentialChanges,
  identitySenders,
  identityMakers,
  gatewayTables,
  scimValues,
  statistics,
  identityPublishers,
  oidcLogouts,
  watchedChanges,
  billingOperations,
  meterPartitions,
  paidQuotes,
  waitingEvents,
  expectations,
  endedRows,
  openStreamCounts,
  oidcRedeem,
  nextAttempts,
  purchases,
  organizationsByCreation,
  svidIssuers,
  customerOrganizations,
  boughtPlans,
  endedCloudTargets,
  webhookSteps,
  paddleCustomers,
  oidcOwnLinks,
  openCheckouts,
  olderInstances,
  oidcRedeemOrder,
  wrongCodes,
  directoryMoves,
  sessionProviders,
  lowerCaseOfLists,
  signInAddresses,
  ordersOfLongLists,
  webhookTallies,
  roomForLeases,
  foldersOfSecrets,
  subscribedEvents,
  sessionPurges,
  filtersOfLists,
  auditIndexes,
  boundedChanges,
  scimGroupOrder,
];
