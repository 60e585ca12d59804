import { hash } from "argon2";
import { defaultPasswordCost } from "../../../src/platform/crypto/password.ts";
import { createSealer } from "../../../src/platform/crypto/sealed.ts";
import { generateTotpSecret } from "../../../src/platform/crypto/totp.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { secretContext } from "../../../src/domains/mfa/codes.ts";
import { seededPeople, seedPeople } from "../seeded-people.ts";
import type { Member } from "../seeded-people.ts";
import type { LoginPerson } from "../load/two-step-logins.ts";
import { cpuSeconds } from "../processes.ts";
import type { Service } from "../service.ts";
import { runSql } from "../../support/postgres.ts";
import type { RatioRow, Sample, Side } from "./row.ts";

const inFlight = 16;
const password = "a long password of everybody here";
/** More than sign in within the 30 s that a code lasts: nobody needs the same code twice. */
const count = 3_000;

/** Logins of people with a TOTP factor, both calls, against logins of people without. */
export const secondFactor: RatioRow = {
  kind: "ratio",
  name: "logins-totp",
  title: "logins with TOTP (both calls), against password logins",
  unit: "1/s",
  target: 0.8,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const logins = await environment.peer<object>("load/two-step-logins.ts", { PORT: String(service.port) });
    const passwordHash = await hash(password, { type: 2, ...defaultPasswordCost });
    const people = async (name: string): Promise<Member[]> => {
      await seedPeople(service, { name, count, passwordHash });
      return seededPeople(service, name, count);
    };
    const org = service.people[1]?.org_name ?? "";
    const guarded = await people("guarded");
    const secrets = await seedFactors(service, guarded);
    const unguarded = await people("unguarded");
    const side = (name: string, who: readonly LoginPerson[]): Side => ({
      name,
      async measure(seconds) {
        const [before, began] = [cpuSeconds(service.pid), performance.now()];
        const sample = await logins.ask<Sample>({ people: who, connections: inFlight, seconds });
        const [after, took] = [cpuSeconds(service.pid), (performance.now() - began) / 1000];
        return before === undefined || after === undefined ? sample : { ...sample, serverCpu: (after - before) / took };
      },
    });
    return [
      side(
        "Atrium, two steps",
        guarded.map(({ email }, i) => ({ email, password, org_name: org, secret: secrets[i] ?? "" })),
      ),
      side(
        "Atrium, password alone",
        unguarded.map(({ email }) => ({ email, password, org_name: org })),
      ),
    ];
  },
};

/** Gives each of them an active factor; resolves to the secrets, base32. */
async function seedFactors({ databaseUrl, instanceKey }: Service, members: readonly Member[]): Promise<string[]> {
  const sealer = createSealer(instanceKey);
  const secrets = members.map(() => generateTotpSecret(systemRandom));
  await runSql(
    databaseUrl,
    `insert into mfa_factors (user_uuid, factor_type, status, secret, created_at, activated_at)
     select f.user_uuid, 'totp', 'active', f.secret, now(), now()
     from unnest($1::uuid[], $2::bytea[]) as f (user_uuid, secret)`,
    [
      members.map(({ userUuid }) => userUuid),
      members.map(({ userUuid }, i) => sealer.seal(secrets[i] ?? "", secretContext(userUuid))),
    ],
  );
  return secrets;
}
