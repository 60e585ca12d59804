import { hash } from "argon2";
import { defaultPasswordCost } from "../../../src/platform/crypto/password.ts";
import { crowd, seedCrowd } from "../crowd.ts";
import type { Stage } from "../stage.ts";
import type { RatioRow, Side } from "./row.ts";

const known = 2_000;
const json = { "content-type": "application/json" };

/** A door that must not tell whether it knows somebody. */
interface Door {
  name: string;
  title: string;
  path: string;
  status: number;
  body(email: string, orgName: string): object;
}

const doors: readonly Door[] = [
  { name: "timing-password", title: "password login, wrong password", path: "/api/auth/login", status: 401, body: (email, orgName) => ({ email, password: "not the right one", org_name: orgName }) },
  { name: "timing-link", title: "magic link", path: "/api/auth/magic-link/send", status: 200, body: (email) => ({ email }) },
  { name: "timing-code", title: "one-time code", path: "/api/auth/otp", status: 200, body: (email) => ({ email }) },
  { name: "timing-reset", title: "forgotten password", path: "/api/auth/password/forgot", status: 202, body: (email) => ({ email }) },
];

/** For each door: what somebody unknown waits, against somebody known, one request at a time. */
export const timings: readonly RatioRow[] = doors.map((door) => ({
  kind: "ratio",
  name: door.name,
  title: `${door.title}: p50 for somebody unknown, against somebody known`,
  unit: "ms",
  target: 1.1,
  at: "near",
  async sides(stage) {
    const emails = await knownPeople(stage);
    return [
      await side(stage, door, "unknown", emails.map((email) => email.replace("@", ".unknown@"))),
      await side(stage, door, "known", emails),
    ];
  },
}));

let seeded: Promise<string[]> | undefined;

function knownPeople(stage: Stage): Promise<string[]> {
  return (seeded ??= (async () => {
    const service = await stage.service();
    const passwordHash = await hash("the right one of everybody", { type: 2, ...defaultPasswordCost });
    await seedCrowd(service, { name: "known", count: known, passwordHash });
    return (await crowd(service, "known", known)).map(({ email }) => email);
  })());
}

async function side(stage: Stage, { path, status, body }: Door, name: string, emails: readonly string[]): Promise<Side> {
  const { port, pid, people } = await stage.service();
  const file = stage.requests(emails.map((email) => ({ method: "POST", path, headers: json, body: JSON.stringify(body(email, people[1]?.org_name ?? "")) })));
  return {
    name,
    async measure(seconds) {
      const sample = await stage.load({ protocol: "http1", port, connections: 1, file, status, seconds, tools: false }, pid);
      return { ...sample, value: sample.p50 ?? Number.NaN };
    },
  };
}
