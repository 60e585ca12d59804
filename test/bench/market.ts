import { setTimeout as sleep } from "node:timers/promises";
import type { Received } from "./load/receiver.ts";
import type { Helper } from "./processes.ts";
import type { Service } from "./service.ts";
import type { Environment } from "./environment.ts";

/** A service that works in the background too, and one other party whom it calls: publisher and receiver in one. */
export interface Market {
  service: Service;
  receiver: Helper<{ port: number }>;
  /** Address of the other party. */
  url: string;
  /** Calls the service as the session of this number; throws unless it answers with `status`. */
  call<T>(session: number, method: string, path: string, status: number, body?: object): Promise<T>;
  /** The receiver forgets what came. */
  begin(): Promise<void>;
  /** What came, once `events` are there; throws when they are not there in time. */
  received(events: number, patienceMs: number): Promise<Received>;
}

/** The market of a row, on a database of this name: opened when it is first asked for. */
export function marketOfRow<T>(
  database: string,
  open: (market: Market) => Promise<T>,
): (environment: Environment) => Promise<Market & T> {
  let opened: Promise<Market & T> | undefined;
  return (environment) =>
    (opened ??= openMarket(environment, database).then(async (market) => ({ ...market, ...(await open(market)) })));
}

/**
 * Starts both; they end with the row. The service may call this one address of the machine, as an operator can allow.
 */
async function openMarket(environment: Environment, database: string): Promise<Market> {
  const receiver = await environment.peer<{ port: number }>("load/receiver.ts");
  const temporal = await environment.temporal();
  const service = await environment.serviceOn(database, {
    role: "all",
    env: {
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      SERVICE_OUTGOING_ALLOW: `127.0.0.1:${receiver.ready.port}`,
    },
  });
  return {
    service,
    receiver,
    url: `http://127.0.0.1:${receiver.ready.port}/`,
    async call<T>(session: number, method: string, path: string, status: number, body?: object) {
      const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, {
        method,
        headers: { authorization: `Bearer ${service.tokens[session]}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
      return JSON.parse(text) as T;
    },
    begin: async () => void (await receiver.ask({ begin: true })),
    async received(events, patienceMs) {
      const seen = await receiver.ask<Received>({ await: events, patienceMs });
      if (seen.events < events)
        throw new Error(`${seen.events} of ${events} events came within ${patienceMs / 1000} s`);
      if (seen.unsigned > 0) throw new Error(`${seen.unsigned} posts lacked a signature`);
      return seen;
    },
  };
}

/** Repeats the check until it resolves to true. */
export async function until(
  ask: () => Promise<boolean>,
  everyMs: number,
  patienceMs: number,
  what: string,
): Promise<void> {
  for (const end = performance.now() + patienceMs; !(await ask()); await sleep(everyMs)) {
    if (performance.now() > end) throw new Error(`${what} did not come within ${patienceMs / 1000} s`);
  }
}
