import type { EntitySchema } from "@mikro-orm/core";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import type { RequestContexts } from "./context.ts";
import type { PasswordHasher } from "./crypto/password.ts";
import type { Cursors } from "./cursors.ts";
import type { Sealer } from "./crypto/sealed.ts";
import type { SealedColumn } from "./crypto/sealed-column.ts";
import type { Database } from "./db/types.ts";
import type { Limiter } from "./limits/index.ts";
import type { Log } from "./log.ts";
import type { GuardedClient } from "./outgoing/client.ts";
import type { Poller } from "./poller.ts";
import type { Random } from "./random.ts";
import type { ServiceRegistration } from "./rpc.ts";
import type { DailyWorkflow } from "./temporal/client.ts";
import type { WorkflowStarter } from "./temporal/workflows.ts";
import type { TidyTasks } from "./tidy-task.ts";
import type { TopicHandler } from "./topics.ts";

/** What every domain is built on. */
export interface Ground {
  config: Config;
  database: Database;
  clock: Clock;
  random: Random;
  log: Log;
  /** Seals with the instance key. */
  sealer: Sealer;
  /** Of lists that page by cursor. */
  cursors: Cursors;
  /** 32 bytes that wrap the keys of the vault; undefined where the installation has none at start. */
  masterKey: Buffer | undefined;
  hasher: PasswordHasher;
  /** HTTP client that refuses private addresses. */
  outgoing: GuardedClient;
  limiter: Limiter;
  workflows: WorkflowStarter;
  /** Contexts of requests, for handlers. */
  contexts: RequestContexts;
}

/** Rows that wait for one workflow each; the workflow recovery starts it where it is missing. */
export interface Recovery {
  /** Up to `limit` ids of waiting rows in order, those after `after` only; null starts at the first. */
  list(after: string | null, limit: number): Promise<string[]>;
  /** Starts the workflow of a row; false when it is running, as it usually is. */
  start(id: string): Promise<boolean>;
}

/** What a domain adds to the program, besides the functions that domains above it call. */
export interface Contributions {
  /** What domains above it call. */
  readonly [other: string]: unknown;
  /** Services of the contract that it implements. */
  services?: readonly ServiceRegistration[];
  /** Handlers of its outbox topics. */
  topics?: Readonly<Record<string, TopicHandler>>;
  /** Activities of its workflows. */
  // oxlint-disable-next-line typescript/no-explicit-any -- Temporal passes what the workflow sends
  activities?: Readonly<Record<string, (...args: any[]) => Promise<unknown>>>;
  /** Rows that wait for workflows, by a name for the log. */
  recoveries?: Readonly<Record<string, Recovery>>;
  /** Workflows that Temporal starts by the clock. */
  schedules?: readonly DailyWorkflow[];
  tidy?: TidyTasks;
  /** Background loops besides the dispatcher, the tidy poller and the workflow recovery. */
  pollers?: readonly Poller[];
}

/** One domain: its name, its entities, its sealed columns, and how it is built on the domains below it. */
export interface DomainDefinition<Name extends string, Needs, Value extends Contributions> {
  /** Name of the folder and, with underscores, of the proto package. */
  readonly name: Name;
  readonly entities: Entities;
  readonly sealed: readonly SealedColumn[];
  build(needs: Needs): Value;
}

type Entities = readonly (EntitySchema | (abstract new (...args: never[]) => object))[];

/** Defines a domain. `Needs` are members of {@link Ground} and of the domains below, in camel case. */
export function defineDomain<const Name extends string, Needs, Value extends Contributions>(
  name: Name,
  build: (needs: Needs) => Value,
  { entities = [], sealed = [] }: { entities?: Entities; sealed?: readonly SealedColumn[] } = {},
): DomainDefinition<Name, Needs, Value> {
  return { name, build, entities, sealed };
}
