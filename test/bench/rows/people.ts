import { organizations } from "../scale.ts";
import { p50Side } from "./latency.ts";
import type { RatioRow } from "./row.ts";

const reads = [
  { name: "users-list", title: "users list", path: "/api/users?limit=20" },
  { name: "users-page", title: "users list, page 100", path: "/api/users?limit=20&offset=2000" },
  { name: "users-email", title: "users list by email", path: "/api/users?email=member0004321%40people.test" },
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
  async sides(environment) {
    const { small, large } = await organizations(environment);
    return [
      p50Side(environment, "a million people", large, path, large.readers),
      p50Side(environment, "10 thousand people", small, path, small.readers),
    ];
  },
}));
