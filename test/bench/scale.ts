import { seedDeliveries } from "./deliveries.ts";
import { crowd, host, organizationOf, seedCrowd, seedSessions } from "./crowd.ts";
import { seedLog } from "./audit-log.ts";
import type { Log } from "./audit-log.ts";
import type { Service } from "./service.ts";
import type { Stage } from "./stage.ts";
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
export interface Crowded {
  /** Tokens of some of its members, all admins. */
  readers: readonly string[];
}

/** A webhook with many deliveries. */
export interface Backlogged {
  webhookId: string;
}

const backlogs = new WeakMap<Stage, Promise<Sizes<Backlogged>>>();
const logs = new WeakMap<Stage, Promise<Sizes<ReadLog>>>();
const crowds = new WeakMap<Stage, Promise<Sizes<Crowded>>>();
const few = { people: 2, sessions: 2 };

/** Audit logs of ten thousand and of ten million events; seeded when they are first asked for. */
export function auditLogs(stage: Stage): Promise<Sizes<ReadLog>> {
  return remembered(logs, stage, async () => {
    const make = async (name: string, events: number): Promise<Service & ReadLog> => {
      const service = await stage.keptService(name, { crowd: few });
      await seedCrowd(service, { name: "reader", count: readers });
      const members = await crowd(service, "reader", readers);
      const tokens = await service.tokensOf(host, await seedSessions(service, members));
      const org = organizationOf(service, host);
      stage.log(`seeding ${events.toLocaleString("en")} audit events`);
      const log = await seedLog(service.databaseUrl, {
        org,
        users: members.slice(0, 20).map(({ userUuid }) => userUuid),
        events,
        log: stage.log,
      });
      return { ...service, readers: tokens, org, log };
    };
    return { small: await make("audit_small", 10_000), large: await make("audit_large", 10_000_000) };
  });
}

/** Organizations of ten thousand and of a million people; seeded when they are first asked for. */
export function organizations(stage: Stage): Promise<Sizes<Crowded>> {
  return remembered(crowds, stage, async () => {
    const make = async (name: string, count: number): Promise<Service & Crowded> => {
      const service = await stage.keptService(name, { crowd: few });
      stage.log(`seeding ${count.toLocaleString("en")} people`);
      await seedCrowd(service, { name: "member", count, log: stage.log });
      await runSql(service.databaseUrl, "vacuum (analyze)");
      const tokens = await service.tokensOf(host, await seedSessions(service, await crowd(service, "member", readers)));
      return { ...service, readers: tokens };
    };
    return { small: await make("people_small", 10_000), large: await make("people_large", 1_000_000) };
  });
}

/** Webhooks of ten thousand and of three million deliveries; seeded when they are first asked for. */
export function webhookLists(stage: Stage): Promise<Sizes<Backlogged>> {
  return remembered(backlogs, stage, async () => {
    const make = async (name: string, count: number): Promise<Service & Backlogged> => {
      const service = await stage.keptService(name, { crowd: few });
      stage.log(`seeding ${count.toLocaleString("en")} deliveries`);
      return { ...service, webhookId: await seedDeliveries(service, count, stage.log) };
    };
    return { small: await make("webhooks_small", 10_000), large: await make("webhooks_large", 3_000_000) };
  });
}

function remembered<T>(made: WeakMap<Stage, Promise<T>>, stage: Stage, make: () => Promise<T>): Promise<T> {
  const known = made.get(stage) ?? make();
  made.set(stage, known);
  return known;
}
