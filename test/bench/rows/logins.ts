import { setTimeout as sleep } from "node:timers/promises";
import { defaultPasswordCost } from "../../../src/platform/crypto/password.ts";
import type { LoadJob } from "../load/job.ts";
import { bothCores } from "../processes.ts";
import type { Service } from "../service.ts";
import type { Environment } from "../environment.ts";
import type { RatioRow, Sample } from "./row.ts";

/** Logins that are in flight at once: enough to keep argon2 busy, fewer than may wait. */
export const inFlight = 16;
/** `/me` requests a second while the flood goes on: what an idle service answers easily. */
const probesPerSecond = 500;
/** Longer than the queue of passwords is. */
const idleAfterMs = 11_000;

/** Logins against argon2 alone, on the same core. */
export const logins: RatioRow = {
  kind: "ratio",
  name: "logins",
  title: "password logins, against bare argon2id verifies",
  unit: "1/s",
  target: 0.85,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const job = await loginJob(environment);
    // One thread on one core, as the service has there.
    const bare = await environment.server<object>("baselines/argon2-verifies.ts", {
      UV_THREADPOOL_SIZE: "1",
      COST: JSON.stringify(defaultPasswordCost),
    });
    return [
      {
        name: "Atrium, logins",
        measure: (seconds) => environment.load({ ...job, connections: inFlight, seconds }, service.pid),
      },
      {
        name: "bare verifies",
        async measure(seconds) {
          const { perSecond } = await bare.ask<{ perSecond: number }>({ seconds });
          return { value: perSecond };
        },
      },
    ];
  },
};

/** How much slower `/me` gets at its 99th percentile during a flood of logins. */
export const meDuringLogins: RatioRow = {
  kind: "ratio",
  name: "flood",
  title: "p99 of /me during a login flood, against its idle p99",
  unit: "ms",
  target: 3,
  at: "most",
  async sides(environment) {
    const { port, pid, tokens } = await environment.service();
    const flood = await loginJob(environment);
    const background = await environment.background();
    const file = environment.requests(
      tokens.map((token) => ({ method: "GET", path: "/api/auth/me", headers: { authorization: `Bearer ${token}` } })),
    );
    const probe = { protocol: "http1", port, connections: 32, file, rate: probesPerSecond } as const;
    const p99 = async (seconds: number) => {
      const sample = await environment.load({ ...probe, seconds }, pid);
      return { ...sample, value: sample.p99 ?? Number.NaN };
    };
    return [
      {
        name: "during a flood",
        async measure(seconds) {
          // More than may wait: the excess is refused with 503 and sent again at once.
          const flooded = background.run({
            ...flood,
            connections: 64,
            rate: 200,
            refusal: 503,
            seconds: seconds + 0.6,
          });
          await new Promise((resolve) => setTimeout(resolve, 300));
          const sample = await p99(seconds);
          await flooded;
          return sample;
        },
      },
      { name: "idle", measure: p99 },
    ];
  },
};

/** Clients that log in at once. */
const clients = 200;

/** The same where nothing keeps the logins from the cores of the service, its database and the load. */
export const meAmongLogins: RatioRow = {
  kind: "ratio",
  name: "flood-shared",
  title: `p99 of /me during ${clients} parallel logins, all on the same two cores, against its idle p99`,
  unit: "ms",
  target: 3,
  at: "most",
  async sides(environment) {
    const service = await environment.serviceAmongLoad();
    const flood = { ...loginsOf(environment, service), connections: clients, refusal: 503 };
    const [probes, background] = [await environment.background(bothCores), await environment.background(bothCores)];
    const file = environment.requests(
      service.tokens.map((token) => ({
        method: "GET",
        path: "/api/auth/me",
        headers: { authorization: `Bearer ${token}` },
      })),
    );
    const p99 = async (seconds: number): Promise<Sample> => {
      const { p99: value = Number.NaN } = await probes.run({
        protocol: "http1",
        port: service.port,
        connections: 32,
        file,
        rate: probesPerSecond,
        seconds,
      });
      return { value };
    };
    return [
      {
        name: "during a flood",
        async measure(seconds) {
          const flooded = background.run({ ...flood, seconds: seconds + 0.6 });
          await sleep(300);
          const sample = await p99(seconds);
          await flooded;
          return sample;
        },
      },
      {
        name: "idle",
        async measure(seconds) {
          // The rest of a flood is processed first.
          await sleep(idleAfterMs);
          return p99(seconds);
        },
      },
    ];
  },
};

/** Logins of all people at the service, one after another. */
export async function loginJob(environment: Environment): Promise<Omit<LoadJob, "seconds" | "connections">> {
  return loginsOf(environment, await environment.service());
}

function loginsOf(
  environment: Environment,
  { port, people }: Pick<Service, "port" | "people">,
): Omit<LoadJob, "seconds" | "connections"> {
  const file = environment.requests(
    people.map((person) => ({
      method: "POST",
      path: "/api/auth/login",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(person),
    })),
  );
  return { protocol: "http1", port, file, tools: false };
}
