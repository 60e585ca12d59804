import { seedDeliveries } from "./deliveries.ts";
import { seededPeople, HOST, organizationOf, seedPeople, seedSessions } from "./seeded-people.ts";
import { seedLog } from "./audit-log.ts";
import type { Log } from "./audit-log.ts";
import type { Service } from "./service.ts";
import type { Environment } from "./environment.ts";
import { runSql } from "../support/postgres.ts";

/** Two sizes of the same data, each with its own service and database. */
export interface Sizes<T> {
  small: Service & T;
  large: Service & T;
}

/** Readers of the log: more than the 60 queries a minute of each of them ever limit. */
const readers = 1_000;

/** Readers and content of a log. */
export interface ReadLog {
  /** Tokens of admins of the organization. */
  readers: readonly string[];
  org: string;
  log: Log;
}

/** Members of a large organization who send requests. */
export interface WithPeople {
  /** Tokens of some of its members, all admins. */
  readers: readonly string[];
}

/** A webhook with many deliveries. */
export interface Backlogged {
  webhookId: string;
}

const backlogs = new WeakMap<Environment, Promise<Sizes<Backlogged>>>();
const logs = new WeakMap<Environment, Promise<Sizes<ReadLog>>>();
const sizes = new WeakMap<Environment, Promise<Sizes<WithPeople>>>();
const few = { people: 2, sessions: 2 };

/** Audit logs of ten thousand and of ten million events; seeded when they are first asked for. */
export function auditLogs(environment: Environment): Promise<Sizes<ReadLog>> {
  return remembered(logs, environment, async () => {
    const make = async (name: string, events: number): Promise<Service & ReadLog> => {
      const service = await environment.keptService(name, { seededPeople: few });
      await seedPeople(service, { name: "reader", count: readers });
      const members = await seededPeople(service, "reader", readers);
      const tokens = await service.tokensOf(HOST, await seedSessions(service, members));
      const org = organizationOf(service, HOST);
      environment.log(`seeding ${events.toLocaleString("en")} audit events`);
      const log = await seedLog(service.databaseUrl, {
        org,
        users: members.slice(0, 20).map(({ userUuid }) => userUuid),
        events,
        log: environment.log,
      });
      return { ...service, readers: tokens, org, log };
    };
    return { small: await make("audit_small", 10_000), large: await make("audit_large", 10_000_000) };
  });
}

/** Organizations of ten thousand and of a million people; seeded when they are first asked for. */
export function organizations(environment: Environment): Promise<Sizes<WithPeople>> {
  return remembered(sizes, environment, async () => {
    const make = async (name: string, count: number): Promise<Service & WithPeople> => {
      const service = await environment.keptService(name, { seededPeople: few });
      environment.log(`seeding ${count.toLocaleString("en")} people`);
      await seedPeople(service, { name: "member", count, log: environment.log });
      await runSql(service.databaseUrl, "vacuum (analyze)");
      const tokens = await service.tokensOf(
        HOST,
        await seedSessions(service, await seededPeople(service, "member", readers)),
      );
      return { ...service, readers: tokens };
    };
    return { small: await make("people_small", 10_000), large: await make("people_large", 1_000_000) };
  });
}

/** Webhooks of ten thousand and of three million deliveries; seeded when they are first asked for. */
export function webhookLists(environment: Environment): Promise<Sizes<Backlogged>> {
  return remembered(backlogs, environment, async () => {
    const make = async (name: string, count: number): Promise<Service & Backlogged> => {
      const service = await environment.keptService(name, { seededPeople: few });
      environment.log(`seeding ${count.toLocaleString("en")} deliveries`);
      return { ...service, webhookId: await seedDeliveries(service, count, environment.log) };
    };
    return { small: await make("webhooks_small", 10_000), large: await make("webhooks_large", 3_000_000) };
  });
}

function remembered<T>(
  made: WeakMap<Environment, Promise<T>>,
  environment: Environment,
  make: () => Promise<T>,
): Promise<T> {
  const known = made.get(environment) ?? make();
  made.set(environment, known);
  return known;
}
