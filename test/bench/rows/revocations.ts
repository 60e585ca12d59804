import { setTimeout as sleep } from "node:timers/promises";
import { seededPeople, HOST, organizationOf, seedPeople, seedSessions } from "../seeded-people.ts";
import type { RatioRow } from "./row.ts";

const connections = 16;
const revocationsPerSecond = 50;
/** Revocations begin before the measured seconds and end after them. */
const margin = 0.4;

/** What concurrent revocations cost other requests. */
export const meDuringRevocations: RatioRow = {
  kind: "ratio",
  name: "me-revocations",
  title: `/me from ${connections} connections with ${revocationsPerSecond} revocations a second, against /me without`,
  unit: "req/s",
  target: 0.9,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const { port, pid, tokens } = service;
    const background = await environment.background();
    await seedPeople(service, { name: "revoked", count: 500 });
    const members = await seededPeople(service, "revoked", 500);
    const base = `/api/organizations/${organizationOf(service, HOST)}/session-inventory`;
    const headers = { authorization: `Bearer ${tokens[HOST]}` };
    const file = environment.requests(
      tokens.map((token) => ({ method: "GET", path: "/api/auth/me", headers: { authorization: `Bearer ${token}` } })),
    );
    const me = { protocol: "http1", port, connections, file } as const;
    return [
      {
        name: "during revocations",
        async measure(seconds) {
          const all = seconds + 2 * margin;
          const ended = await seedSessions(
            service,
            Array.from(
              { length: Math.ceil(all * revocationsPerSecond) + 10 },
              (_, i) => members[i % members.length] as (typeof members)[number],
            ),
          );
          const revocations = environment.requests(
            ended.map(({ sid }) => ({ method: "DELETE", path: `${base}/${sid}`, headers })),
          );
          const revoking = background.run({
            protocol: "http1",
            port,
            connections: 8,
            file: revocations,
            once: true,
            rate: revocationsPerSecond,
            status: 204,
            seconds: all,
          });
          await sleep(margin * 1000);
          const sample = await environment.load({ ...me, seconds }, pid);
          const { perSecond } = await revoking;
          if (perSecond < revocationsPerSecond * 0.95)
            throw new Error(`only ${perSecond.toFixed(1)} revocations a second were made`);
          return sample;
        },
      },
      { name: "without", measure: (seconds) => environment.load({ ...me, seconds }, pid) },
    ];
  },
};
