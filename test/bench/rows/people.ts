import { organizations } from "../scale.ts";
import type { Crowded } from "../scale.ts";
import type { Service } from "../service.ts";
import type { Stage } from "../stage.ts";
import type { RatioRow, Side } from "./row.ts";

const reads = [
  { name: "users-list", title: "users list", path: "/api/users?limit=20" },
  { name: "users-page", title: "users list, page 100", path: "/api/users?limit=20&offset=2000" },
  { name: "users-email", title: "users list by email", path: "/api/users?email=member0004321%40crowd.test" },
  { name: "users-status", title: "users list by status", path: "/api/users?status=active&limit=20" },
  { name: "me-million", title: "GET /api/auth/me", path: "/api/auth/me" },
] as const;

/** What reads cost in an organization of a million people, against one of ten thousand. */
export const peopleReads: readonly RatioRow[] = reads.map(({ name, title, path }) => ({
  kind: "ratio",
  name,
  title: `${title}: p50 at a million people, against 10 thousand`,
  unit: "ms",
  target: 1.5,
  at: "most",
  async sides(stage) {
    const { small, large } = await organizations(stage);
    return [side(stage, "a million people", path, large), side(stage, "10 thousand people", path, small)];
  },
}));

function side(stage: Stage, name: string, path: string, service: Service & Crowded): Side {
  const file = stage.requests(service.readers.map((token) => ({ method: "GET", path, headers: { authorization: `Bearer ${token}` } })));
  return {
    name,
    async measure(seconds) {
      const sample = await stage.load({ protocol: "http1", port: service.port, connections: 1, file, seconds, tools: false }, service.pid);
      return { ...sample, value: sample.p50 ?? Number.NaN };
    },
  };
}
