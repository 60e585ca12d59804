import { createAuditRecord } from "../../src/domains/audit-record/index.ts";
import { createEvents } from "../../src/domains/event-catalogue/index.ts";
import { createAccess } from "../../src/domains/access/index.ts";
import { createAuthEvents } from "../../src/domains/auth-events/index.ts";
import { createCredentials } from "../../src/domains/credentials/index.ts";
import { createSigningKeys } from "../../src/domains/signing-keys/index.ts";
import { createMfa } from "../../src/domains/mfa/index.ts";
import type { SecondFactorNeeded } from "../../src/domains/mfa/index.ts";
import { createOrganizations, Organization } from "../../src/domains/organizations/index.ts";
import { createMtlsCa } from "../../src/domains/mtls-ca/index.ts";
import { createOidc } from "../../src/domains/oidc/index.ts";
import { createOffboarding } from "../../src/domains/offboarding/index.ts";
import { createRbac } from "../../src/domains/rbac/index.ts";
import { createUsers } from "../../src/domains/users/index.ts";
import { createServiceIdentities } from "../../src/domains/service-identities/index.ts";
import { createSessions } from "../../src/domains/sessions/index.ts";
import { createInvitations } from "../../src/domains/invitations/index.ts";
import { createLiveness } from "../../src/domains/liveness/index.ts";
import { createLogin } from "../../src/domains/login/index.ts";
import { createSpiffe } from "../../src/domains/spiffe/index.ts";
import { createStepUp } from "../../src/domains/step-up/index.ts";
import { createPeople, Person } from "../../src/domains/people/index.ts";
import type { Caller, RequestInfo } from "../../src/platform/caller.ts";
import { createRequestContext } from "../../src/platform/context.ts";
import { createPasswordHasher } from "../../src/platform/crypto/password.ts";
import { createCursors } from "../../src/platform/cursors.ts";
import { createSealer } from "../../src/platform/crypto/sealed.ts";
import type { Database } from "../../src/platform/db/types.ts";
import { silentLog } from "../../src/platform/log.ts";
import { createGuardedClient } from "../../src/platform/outgoing/client.ts";
import type { Mail } from "../../src/platform/outgoing/mailbox.ts";
import { createMailHandler, createMailOutbox } from "../../src/platform/outgoing/mail-outbox.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { CHEAP_PASSWORDS } from "./app.ts";
import { testClock } from "./clock.ts";
import type { TestClock } from "./clock.ts";
import { openTestDatabase } from "./database.ts";

/** The identity domains on their own database, without a server. */
export type Identity = Awaited<ReturnType<typeof openIdentity>>;

/** Client address of requests of these tests. */
export const info: RequestInfo = {
  requestId: "test",
  address: "192.0.2.1",
  userAgent: "vitest",
  deviceUuid: undefined,
};

const baseUrl = "http://localhost:8080";
const owner = { orgName: "Acme", email: "owner@acme.test", password: "correct horse battery" };

/** Opens a database and builds the identity domains on it. */
export async function openIdentity(options: { openSignup?: boolean } = {}) {
  const clock = testClock();
  const database = await openTestDatabase({ entities: [Organization, Person], clock });
  const hasher = createPasswordHasher({ concurrency: 2, cost: CHEAP_PASSWORDS });
  const first = build(database, clock, hasher, options);
  await first.keys.signing.ensureInstanceKey();
  return {
    ...first,
    database,
    clock,
    owner,
    /** A second instance on the same database. */
    another: () => build(database, clock, hasher, options),
    /** Mails waiting in the outbox, oldest first. */
    async mails(): Promise<Mail[]> {
      const rows = await database.transaction((tx) =>
        tx.query<{ payload: Record<string, unknown> }>(
          "select payload from outbox where topic in ('mail.send', 'mail.bulk') order by id",
        ),
      );
      const mails: Mail[] = [];
      const open = createMailHandler(sealer, { send: async (mail) => void mails.push(mail) });
      for (const row of rows) await open(row.payload);
      return mails;
    },
    /** Publishes apps of the first organization, dated a minute ago, with grants for its owner. Returns their ids. */
    publishApps: (count: number): Promise<string[]> => publishApps(database, clock.now() - 60_000, count),
    /** Adds or removes the ownership of the first organization; its owner stays administrator. */
    setOwnership: async (isOwner: boolean): Promise<void> => {
      const sql = `update memberships set is_owner = $1, version = version + 1
        where user_uuid = (select uuid from people where email = $2)`;
      await database.transaction((tx) => tx.query(sql, [isOwner, owner.email]));
    },
    /** Plain SQL, as the restricted role. */
    sql: <R extends object>(text: string, params: readonly unknown[] = []): Promise<R[]> =>
      database.transaction((tx) => tx.query<R>(text, params)),
    async close(): Promise<void> {
      await first.sessions.close();
      await hasher.close();
      await database.close();
    },
  };
}

const sealer = createSealer(Buffer.alloc(32, 7));

function build(
  database: Database,
  clock: TestClock,
  hasher: ReturnType<typeof createPasswordHasher>,
  options: { openSignup?: boolean },
) {
  const announce = () => Promise.resolve();
  const record = createAuditRecord({ database, clock, random: systemRandom });
  const events = createEvents(record, announce);
  const cursors = createCursors({ clock, sealer, cursorMs: 3_600_000 });
  const shared = { database, clock, random: systemRandom, sealer, cursors, log: silentLog, events };
  const organizations = createOrganizations(shared);
  const people = createPeople({
    ...shared,
    mailOutbox: createMailOutbox(sealer),
    config: { baseUrl, mailOff: false },
  });
  const access = createAccess({ database, clock, organizations });
  const keys = createSigningKeys({ ...shared, organizations, config: { baseUrl, keyOverlapMs: 86_400_000 } });
  const authEvents = createAuthEvents({ ...shared, organizations, people, keys: keys.signing });
  const liveness = createLiveness({ database, clock });
  const ttls = { pairMs: 420_000, refreshMs: 30 * 86_400_000, refreshIdleMs: 7 * 86_400_000, refreshGraceMs: 10_000 };
  const sessions = createSessions({
    ...shared,
    access,
    keys,
    liveness,
    administeredApps: access.apps.ofToken,
    config: { baseUrl, ttls },
  });
  const config = {
    baseUrl,
    openSignup: options.openSignup ?? true,
    magicLinkDevEcho: true,
    accessMs: 900_000,
    magicLinkMs: 900_000,
    magicAccessMs: 86_400_000,
    otpMs: 600_000,
    passwordResetMs: 1_800_000,
  };
  const rbac = createRbac({ ...shared, organizations, people });
  const mfa = createMfa({
    ...shared,
    rbac,
    people,
    access,
    sessions,
    limiter: undefined,
    config: { elevatedMs: 900_000, mfaTokenMs: 300_000, stepUpLockMs: 300_000 },
  });
  const stepUp = createStepUp({
    ...shared,
    hasher,
    people,
    access,
    sessions,
    mfa,
    limiter: undefined,
    config: { baseUrl, elevatedMs: 900_000, stepUpMs: 300_000, magicLinkMs: 900_000 },
  });
  const credentials = createCredentials({ ...shared, liveness, environment: "dev" });
  const serviceIdentities = createServiceIdentities({ ...shared, liveness, rbac, credentials, environment: "dev" });
  const invitations = createInvitations({
    ...shared,
    organizations,
    people,
    rbac,
    limiter: undefined,
    config: { baseUrl, invitationMs: 7 * 86_400_000 },
  });
  const offboarding = createOffboarding({
    ...shared,
    organizations,
    rbac,
    sessions,
    credentials,
    serviceIdentities,
    mtlsCa: createMtlsCa({ ...shared, config }),
    invitations,
    marketplace: {
      memberLeaves: () => Promise.resolve(),
      lockForEnd: () => Promise.resolve(),
      organizationEnds: () => Promise.resolve(),
    },
    billing: { ending: { organizationEnds: () => Promise.resolve() } },
    vault: { lockForEnd: () => Promise.resolve(), endWithOrganization: () => Promise.resolve() },
  });

  const oidc = createOidc({
    ...shared,
    organizations,
    people,
    access,
    sessions,
    mfa,
    outgoing: createGuardedClient(),
    config: { baseUrl, stateMs: 600_000, sessionTokenMs: 60_000 },
  });
  const users = createUsers({ ...shared, organizations, people, access, rbac, offboarding, oidc });
  const login = createLogin({
    ...shared,
    hasher,
    organizations,
    people,
    access,
    keys,
    spiffe: createSpiffe({
      ...shared,
      serviceIdentities,
      config: { baseUrl, trustDomain: "atrium.local", svidHourMs: 3_600_000 },
    }),
    sessions,
    mfa,
    stepUp,
    credentials,
    serviceIdentities,
    webhooks: { lockForEnd: () => undefined, organizationEnds: () => Promise.resolve() },
    invitations,
    offboarding,
    oidc,
    signInAttempts: undefined,
    config,
  });
  const anonymous = (from: RequestInfo = info) => createRequestContext(database, undefined, from);
  return {
    organizations,
    people,
    authEvents,
    access,
    keys,
    sessions,
    mfa,
    stepUp,
    login,
    users,
    events,
    /** A request without a caller. */
    anonymous,
    /** A request of a caller, or without one. */
    context: <C extends Caller | undefined>(caller: C, from: RequestInfo = info) =>
      createRequestContext(database, caller, from),
    /** The caller behind a token. */
    me: (token: string): Promise<Caller> => sessions.authenticate(token, info),
    /** Signs in the bootstrapped owner, who has no second factor. */
    loginOwner: async () =>
      opened(
        await login.password.login(anonymous(), {
          email: owner.email,
          password: owner.password,
          orgName: owner.orgName,
        }),
      ),
  };
}

/** The result of a sign-in without a second factor. */
export function opened<T extends object>(answer: T): Exclude<T, SecondFactorNeeded> {
  if ("mfaRequired" in answer) throw new Error("the second factor is asked for");
  return answer as Exclude<T, SecondFactorNeeded>;
}

async function publishApps(database: Database, at: number, count: number): Promise<string[]> {
  const sql = `
    with owner as (
      select m.user_uuid, m.org_uuid from memberships m join people p on p.uuid = m.user_uuid where p.email = $1),
    slug as (
      insert into app_slugs (slug) select gen_random_uuid()::text from generate_series(1, $2::int) returning slug),
    app as (
      insert into apps (app_id, org_uuid, slug, name, description, deployment_modes, pricing_model, base_price_cents,
        currency, plans, provision_webhook, webhook_secret, status, created_by, key_id, created_at, updated_at)
      select gen_random_uuid(), org_uuid, slug, slug, '', '{}', 'seat', 0, 'usd', '[]', '', '', 'published', user_uuid,
        gen_random_uuid(), $3::timestamptz, $3::timestamptz from slug, owner returning app_id)
    insert into app_admins (grant_id, app_id, user_uuid, granted_by, created_at)
    select gen_random_uuid(), app_id, user_uuid, user_uuid, $3::timestamptz from app, owner returning app_id`;
  const rows = await database.transaction((tx) =>
    tx.query<{ app_id: string }>(sql, [owner.email, count, new Date(at)]),
  );
  return rows.map(({ app_id }) => app_id).sort();
}
