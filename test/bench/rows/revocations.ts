import { setTimeout as sleep } from "node:timers/promises";
import { crowd, host, organizationOf, seedCrowd, seedSessions } from "../crowd.ts";
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
  async sides(stage) {
    const service = await stage.service();
    const { port, pid, tokens } = service;
    const background = await stage.background();
    await seedCrowd(service, { name: "revoked", count: 500 });
    const members = await crowd(service, "revoked", 500);
    const base = `/api/organizations/${organizationOf(service, host)}/session-inventory`;
    const headers = { authorization: `Bearer ${tokens[host]}` };
    const file = stage.requests(
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
          const revocations = stage.requests(
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
          const sample = await stage.load({ ...me, seconds }, pid);
          const { perSecond } = await revoking;
          if (perSecond < revocationsPerSecond * 0.95)
            throw new Error(`only ${perSecond.toFixed(1)} revocations a second were made`);
          return sample;
        },
      },
      { name: "without", measure: (seconds) => stage.load({ ...me, seconds }, pid) },
    ];
  },
};
