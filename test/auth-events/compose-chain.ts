import { createAuditRecord } from "../../src/domains/audit-record/index.ts";
import { createEvents } from "../../src/domains/event-catalogue/index.ts";
import { createAuthEvents } from "../../src/domains/auth-events/index.ts";
import type { AuthEvents } from "../../src/domains/auth-events/index.ts";
import { createSigningKeys } from "../../src/domains/signing-keys/index.ts";
import { createOrganizations, Organization } from "../../src/domains/organizations/index.ts";
import { createPeople, Person } from "../../src/domains/people/index.ts";
import { migrations } from "../../src/migrations/index.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { createCursors } from "../../src/platform/cursors.ts";
import { createSealer } from "../../src/platform/crypto/sealed.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { createMailOutbox } from "../../src/platform/outgoing/mail-outbox.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { INSTANCE_KEY } from "../support/app.ts";

/** A hash chain of its own over the database of an app, as a further instance has it. */
export async function composeAuditChain(
  databaseUrl: string,
  clock: Clock,
): Promise<{ chain: AuthEvents; close(): Promise<void> }> {
  const database = await openDatabase({
    url: databaseUrl,
    entities: [Organization, Person],
    migrations,
    clock,
    log: silentLog,
  });
  const sealer = createSealer(INSTANCE_KEY);
  const cursors = createCursors({ clock, sealer, cursorMs: 3_600_000 });
  const shared = { database, clock, log: silentLog, random: systemRandom, sealer, cursors };
  const organizations = createOrganizations(shared);
  const record = createAuditRecord(shared);
  const events = createEvents(record, async () => undefined);
  const people = createPeople({
    ...shared,
    events,
    mailOutbox: createMailOutbox(shared.sealer),
    config: { baseUrl: "http://atrium.test", mailOff: true },
  });
  const keys = createSigningKeys({
    ...shared,
    organizations,
    events,
    config: { baseUrl: "http://atrium.test", keyOverlapMs: 86_400_000 },
  });
  return {
    chain: createAuthEvents({ ...shared, events, organizations, people, keys: keys.signing }),
    close: () => database.close(),
  };
}
