import type { Ground } from "../platform/domain.ts";
import { createMailOutbox } from "../platform/outgoing/mail-outbox.ts";
import { createAccess } from "../domains/access/index.ts";
import { createAuthEvents } from "../domains/auth-events/index.ts";
import { createCredentials } from "../domains/credentials/index.ts";
import { createSigningKeys } from "../domains/signing-keys/index.ts";
import { createMarketplace } from "../domains/marketplace/index.ts";
import { createMfa } from "../domains/mfa/index.ts";
import { createStepUp } from "../domains/step-up/index.ts";
import { createOrganizations } from "../domains/organizations/index.ts";
import { createSessions } from "../domains/sessions/index.ts";
import { createInvitations } from "../domains/invitations/index.ts";
import { createLogin } from "../domains/login/index.ts";
import { createOffboarding } from "../domains/offboarding/index.ts";
import { createOperator } from "../domains/operator/index.ts";
import { createPeople } from "../domains/people/index.ts";
import { createRbac } from "../domains/rbac/index.ts";
import { createUsers } from "../domains/users/index.ts";
import { createWebhooks } from "../domains/webhooks/index.ts";
import { createAnnounce, createEvents } from "../domains/event-catalogue/index.ts";
import { createAuditRecord } from "../domains/audit-record/index.ts";

/** Builds the domains in floor order and ties the few that need each other. */
export function composeDomains(ground: Ground) {
  const { config, database, clock, random, log, sealer, hasher, outgoing, limiter } = ground;
  const { baseUrl, ttl, patience } = config;

  const organizations = createOrganizations({ database, clock, random });
  const mailOutbox = createMailOutbox(sealer);
  const announce = createAnnounce({ clock, random });
  const record = createAuditRecord({ database, clock, random });
  const events = createEvents(record, announce);
  const people = createPeople({
    database,
    clock,
    random,
    events,
    mailOutbox,
    config: { baseUrl, mailOff: config.mail.off },
  });

  const access = createAccess({ database, organizations });
  const rbac = createRbac({ database, clock, events, organizations, people });
  const keys = createSigningKeys({
    database,
    clock,
    random,
    sealer,
    organizations,
    events,
    config: { baseUrl, keyOverlapMs: ttl.keyOverlapMs },
  });
  const authEvents = createAuthEvents({
    database,
    clock,
    random,
    log,
    sealer,
    events,
    organizations,
    people,
    keys: keys.signing,
  });
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
  const webhooks = createWebhooks({
    database,
    clock,
    random,
    log,
    sealer,
    outgoing,
    events,
    organizations,
    access,
    config: {
      schedule: patience.webhookScheduleMs,
      timeoutMs: patience.webhookTimeoutMs,
      secretOverlapMs: ttl.secretOverlapMs,
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
    rbac,
    limiter: config.rateLimits ? limiter : undefined,
    config: { baseUrl, invitationMs: ttl.invitationMs },
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
    rbac,
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

  const marketplace = createMarketplace({
    database,
    clock,
    random,
    sealer,
    outgoing,
    events,
    organizations,
    people,
    access,
    config: {
      baseUrl,
      provisionDeadlineMs: patience.provisionDeadlineMs,
      deprovisionDeadlineMs: patience.deprovisionDeadlineMs,
      webhookTimeoutMs: patience.webhookTimeoutMs,
      schedule: patience.webhookScheduleMs,
    },
  });

  const offboarding = createOffboarding({
    clock,
    events,
    organizations,
    rbac,
    sessions,
    credentials,
    marketplace,
    invitations,
  });
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
    offboarding,
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
  const users = createUsers({ database, clock, events, organizations, people, access, rbac, offboarding });
  const operator = createOperator({ database, clock, events, organizations });

  return {
    events,
    organizations,
    people,
    authEvents,
    access,
    rbac,
    keys,
    sessions,
    mfa,
    stepUp,
    invitations,
    login,
    marketplace,
    webhooks,
    credentials,
    users,
    operator,
  };
}

/** Every domain, built. */
export type Domains = ReturnType<typeof composeDomains>;
