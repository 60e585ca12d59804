import type { RequestInfo } from "../platform/caller.ts";
import type { Tx } from "../platform/db/types.ts";
import type { Ground } from "../platform/domain.ts";
import { createPost } from "../platform/outgoing/post.ts";
import { createAccess, createAdministration } from "../domains/access/index.ts";
import { actorOf } from "../domains/audit-record/index.ts";
import { createAudit, createAuditChain } from "../domains/auth-events/index.ts";
import { createCredentials } from "../domains/credentials/index.ts";
import { createSigningKeys } from "../domains/signing-keys/index.ts";
import { createMarketplace } from "../domains/marketplace/index.ts";
import type { Marketplace, MarketplaceAudit } from "../domains/marketplace/index.ts";
import { createMfa } from "../domains/mfa/index.ts";
import { createStepUp } from "../domains/step-up/index.ts";
import { createOperatorConfig, createOrganizations } from "../domains/organizations/index.ts";
import { createSessions } from "../domains/sessions/index.ts";
import { createInvitations } from "../domains/invitations/index.ts";
import { createLogin } from "../domains/login/index.ts";
import { createPeople } from "../domains/people/index.ts";
import { createWebhooks } from "../domains/webhooks/index.ts";
import { createAnnounce, createEvents } from "../domains/event-catalogue/index.ts";
import type { WebhookEventType } from "../domains/event-catalogue/index.ts";
import { createAuditRecord } from "../domains/audit-record/index.ts";

/** Origin of what the service does by itself. */
const itself: Pick<RequestInfo, "address" | "userAgent"> = { address: "", userAgent: "atrium" };

/** What webhooks hear of the marketplace (decisions 11.6). */
const MARKETPLACE_EVENTS: Readonly<Record<string, WebhookEventType>> = {
  "app.published": "app.published",
  "app.archived": "app.archived",
  "install.requested": "install.provisioning",
  "install.active": "install.active",
  "install.failed": "install.failed",
  "install.suspended": "install.suspended",
  "install.resumed": "install.resumed",
  "install.deprovisioning": "install.deprovisioning",
  "install.deprovisioned": "install.deprovisioned",
};

/** Builds the domains in floor order and ties the few that need each other. */
export function composeDomains(ground: Ground) {
  const { config, database, clock, random, log, sealer, hasher, outgoing, limiter } = ground;
  const { baseUrl, ttl, patience } = config;

  const organizations = createOrganizations({ database, clock, random });
  const post = createPost(sealer);
  const announce = createAnnounce({ clock, random });
  const record = createAuditRecord({ database, clock, random });
  const events = createEvents(record, announce);
  const people = createPeople({
    database,
    clock,
    random,
    events,
    post,
    config: { baseUrl, mailOff: config.mail.off },
  });
  const audit = createAudit({
    database,
    record,
    organizationExists: organizations.existsEver,
    personKnown: people.isKnown,
  });

  // Marketplace and webhooks stand below domains that ask or tell them: their functions are bound when all are there.
  const late: { marketplace?: Marketplace } = {};
  const market = (): Marketplace => {
    if (late.marketplace === undefined) throw new Error("the marketplace is not composed yet");
    return late.marketplace;
  };
  const access = createAccess({ database, organizations });
  const keys = createSigningKeys({
    database,
    clock,
    random,
    sealer,
    organizations,
    events,
    config: { baseUrl, keyOverlapMs: ttl.keyOverlapMs },
  });
  const auditChain = createAuditChain({ database, clock, random, log, sealer, events, keys: keys.signing });
  const operatorConfig = createOperatorConfig({ database, clock, audit });
  const sessions = createSessions({
    database,
    clock,
    random,
    log,
    sealer,
    events,
    access,
    keys,
    administeredApps: access.apps.ofToken,
    config: {
      baseUrl,
      ttls: {
        pairMs: ttl.pairMs,
        refreshMs: ttl.refreshMs,
        refreshIdleMs: ttl.refreshIdleMs,
        refreshGraceMs: patience.refreshGraceMs,
      },
    },
  });
  const credentials = createCredentials({
    database,
    clock,
    random,
    access,
    events,
    environment: config.development ? "dev" : "live",
  });
  const invitations = createInvitations({
    database,
    clock,
    random,
    events,
    organizations,
    people,
    access,
    limiter: config.rateLimits ? limiter : undefined,
    config: { baseUrl, invitationMs: ttl.invitationMs },
  });
  const administration = createAdministration({
    database,
    clock,
    audit,
    announce,
    organizations,
    people,
    access,
    ending: {
      ofMember: async (tx, orgUuid, userUuid, by) => {
        await sessions.ending.ofMember(tx, orgUuid, userUuid, by);
        await credentials.manage.endWithMembership(tx, orgUuid, userUuid, by);
      },
      ofOrganization: async (tx, orgUuid, by) => {
        await sessions.ending.ofOrganization(tx, orgUuid, by);
        await credentials.manage.endWithOrganization(tx, orgUuid);
      },
    },
    whenEnded: [
      async (tx, orgUuid, userUuid, status) =>
        status === "removed" ? market().memberLeaves(tx, orgUuid, userUuid) : undefined,
      (tx, orgUuid, userUuid, _status, by) => invitations.endWithMembership(tx, orgUuid, userUuid, by),
    ],
    whenDeleted: [(...ended) => market().organizationEnds(...ended)],
  });
  const mfa = createMfa({
    database,
    clock,
    random,
    sealer,
    events,
    people,
    access,
    sessions,
    members: administration.members,
    config: { elevatedMs: ttl.elevatedMs, mfaTokenMs: ttl.mfaTokenMs, stepUpLockMs: patience.stepUpLockMs },
  });
  const stepUp = createStepUp({
    database,
    clock,
    random,
    hasher,
    events,
    people,
    access,
    sessions,
    mfa,
    config: {
      baseUrl,
      elevatedMs: ttl.elevatedMs,
      stepUpMs: ttl.stepUpMs,
      magicLinkMs: ttl.magicLinkMs,
    },
  });
  const webhooks = createWebhooks({
    database,
    clock,
    random,
    log,
    sealer,
    outgoing,
    vetUrl: (url) => outgoing.vetUrl(url),
    keepOrg: organizations.keep,
    audit: async (tx, { type, orgUuid, caller, info, webhookId, metadata }) => {
      await audit.record(tx, {
        type,
        outcome: "success",
        userUuid: caller.userUuid,
        orgUuid,
        info,
        metadata,
        actor: actorOf(caller),
        resource: { type: "webhook", id: webhookId },
      });
    },
    administeredApp: access.apps.administered,
    keepAdministering: access.apps.demandAdministrator,
    administers: (caller, appId) => caller.isPlatformAdmin || caller.appAdmin.includes(appId),
    administeredApps: (caller) => Promise.resolve([...caller.appAdmin]),
    events,
    config: {
      schedule: patience.webhookScheduleMs,
      timeoutMs: patience.webhookTimeoutMs,
      secretOverlapMs: ttl.secretOverlapMs,
    },
  });

  /** What happens in the marketplace goes to the audit log and to the webhooks that hear it. */
  async function tellMarketplace(
    tx: Tx,
    { type, orgUuid, caller, info, resourceType, resourceId, metadata }: MarketplaceAudit,
  ): Promise<void> {
    const event = MARKETPLACE_EVENTS[type];
    if (event !== undefined)
      await announce(tx, {
        type: event,
        orgUuid,
        appId: typeof metadata["app_id"] === "string" ? metadata["app_id"] : undefined,
        data: metadata,
      });
    await audit.record(tx, {
      type,
      outcome: "success",
      orgUuid,
      metadata,
      userUuid: caller?.userUuid ?? null,
      info: info ?? itself,
      actor: caller === null ? null : actorOf(caller),
      resource: { type: resourceType, id: resourceId },
    });
  }
  const marketplace = (late.marketplace = createMarketplace({
    database,
    clock,
    random,
    sealer,
    outgoing,
    vetUrl: (url) => outgoing.vetUrl(url),
    audit: tellMarketplace,
    keepOrg: organizations.keep,
    orgLives: async (tx, orgUuid) => (await organizations.findIn(tx, orgUuid)) !== undefined,
    access,
    orgName: async (tx, orgUuid) => (await organizations.nameOf(tx, orgUuid)) ?? "",
    orgNames: organizations.namesOf,
    people: {
      ownersOf: people.memberships.ownersOf,
      emailsOf: people.emailsOf,
      activeMembersOf: people.memberships.activeOf,
      keepActiveMember: people.memberships.keepActive,
    },
    config: {
      baseUrl,
      provisionDeadlineMs: patience.provisionDeadlineMs,
      deprovisionDeadlineMs: patience.deprovisionDeadlineMs,
      webhookTimeoutMs: patience.webhookTimeoutMs,
      schedule: patience.webhookScheduleMs,
    },
  }));

  const login = createLogin({
    database,
    clock,
    random,
    sealer,
    hasher,
    events,
    organizations,
    people,
    access,
    keys,
    sessions,
    mfa,
    stepUp,
    credentials,
    webhooks,
    invitations,
    administration,
    config: {
      baseUrl,
      openSignup: config.openSignup,
      magicLinkDevEcho: config.magicLinkDevEcho,
      accessMs: ttl.accessMs,
      magicLinkMs: ttl.magicLinkMs,
      magicAccessMs: ttl.magicAccessMs,
      otpMs: ttl.otpMs,
      passwordResetMs: ttl.passwordResetMs,
    },
  });

  return {
    events,
    organizations,
    people,
    audit,
    auditChain,
    operatorConfig,
    access,
    administration,
    keys,
    sessions,
    mfa,
    stepUp,
    invitations,
    login,
    marketplace,
    webhooks,
    credentials,
  };
}

/** Every domain, built. */
export type Domains = ReturnType<typeof composeDomains>;
