import { hash } from "argon2";
import { defaultPasswordCost } from "../../../src/platform/crypto/password.ts";
import { seededPeople, seedPeople } from "../seeded-people.ts";
import type { Environment } from "../environment.ts";
import type { RatioRow } from "./row.ts";

/** Known people. */
const count = 2_000;

/** A route that must not reveal whether an address is known. */
interface Door {
  name: string;
  title: string;
  path: string;
  status: number;
  body(email: string, orgName: string): object;
}

const doors: readonly Door[] = [
  {
    name: "timing-password",
    title: "password login, wrong password",
    path: "/api/auth/login",
    status: 401,
    body: (email, orgName) => ({ email, password: "not the right one", org_name: orgName }),
  },
  {
    name: "timing-link",
    title: "magic link",
    path: "/api/auth/magic-link/send",
    status: 200,
    body: (email) => ({ email }),
  },
  { name: "timing-code", title: "one-time code", path: "/api/auth/otp", status: 200, body: (email) => ({ email }) },
  {
    name: "timing-reset",
    title: "forgotten password",
    path: "/api/auth/password/forgot",
    status: 202,
    body: (email) => ({ email }),
  },
];

/** For each route: response time of an unknown address against a known one, one request at a time. */
export const timings: readonly RatioRow[] = doors.map((door) => ({
  kind: "ratio",
  name: door.name,
  title: `${door.title}: p50 for somebody unknown, against somebody known`,
  unit: "ms",
  target: 1.1,
  at: "near",
  async sides(environment) {
    const service = await environment.service();
    const emails = await knownPeople(environment);
    const pair = await environment.peer<object>("load/alternating.ts", { PORT: String(service.port) });
    const bodies = [emails.map((email) => email.replace("@", ".unknown@")), emails].map((those) =>
      those.map((email) => JSON.stringify(door.body(email, service.people[1]?.org_name ?? ""))),
    );
    let known = Number.NaN;
    return [
      {
        name: "unknown",
        // Both sides at once, in turn: so near to one another they would differ by what else goes on.
        async measure(seconds) {
          const [value = Number.NaN, other = Number.NaN] = await pair.ask<number[]>({
            path: door.path,
            status: door.status,
            bodies,
            seconds: seconds * 2,
          });
          known = other;
          return { value };
        },
      },
      { name: "known", measure: () => Promise.resolve({ value: known }) },
    ];
  },
}));

const seeded = new WeakMap<Environment, Promise<string[]>>();

function knownPeople(environment: Environment): Promise<string[]> {
  const made = seeded.get(environment) ?? seedKnown(environment);
  seeded.set(environment, made);
  return made;
}

async function seedKnown(environment: Environment): Promise<string[]> {
  const service = await environment.service();
  const passwordHash = await hash("the right one of everybody", { type: 2, ...defaultPasswordCost });
  await seedPeople(service, { name: "known", count, passwordHash });
  return (await seededPeople(service, "known", count)).map(({ email }) => email);
}
