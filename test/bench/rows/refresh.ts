import { randomBytes } from "node:crypto";
import { seededPeople, seedPeople, seedSessions } from "../seeded-people.ts";
import type { RatioRow, Sample } from "./row.ts";

/** Connections the service has for transactions, and what the bare side gets too. */
const connections = 10;
/** Refreshes that are in flight at once: enough to keep every connection busy. */
const inFlight = 32;
/** Refreshes for each second of a round: more than any service makes on one core. */
const perSecond = 4_000;

/** Rotations of refresh tokens, each used once, against the same transaction without the service. */
export const refreshes: RatioRow = {
  kind: "ratio",
  name: "refresh",
  title: "POST /api/auth/refresh, against bare transactions of two updates and two inserts",
  unit: "1/s",
  target: 0.6,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    await seedPeople(service, { name: "refresher", count: 2_000 });
    const members = await seededPeople(service, "refresher", 2_000);
    const bare = await environment.server<object>("baselines/two-updates-two-inserts.ts", {
      DATABASE: await environment.baselineDatabase(),
      CONNECTIONS: String(connections),
    });
    return [
      {
        name: "Atrium, refreshes",
        async measure(seconds) {
          const tokens = Array.from({ length: Math.ceil(seconds * perSecond) }, () =>
            randomBytes(32).toString("base64url"),
          );
          await seedSessions(
            service,
            tokens.map((_, i) => members[i % members.length] as (typeof members)[number]),
            tokens,
          );
          const file = environment.requests(
            tokens.map((token) => ({
              method: "POST",
              path: "/api/auth/refresh",
              headers: { "content-type": "application/json" },
              body: JSON.stringify({ refresh_token: token }),
            })),
          );
          return environment.load(
            { protocol: "http1", port: service.port, connections: inFlight, file, once: true, seconds },
            service.pid,
          );
        },
      },
      { name: "bare transactions", measure: (seconds) => bare.ask<Sample>({ seconds }) },
    ];
  },
};
