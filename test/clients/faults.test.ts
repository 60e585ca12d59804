import type { Transport } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAtrium, isAtriumError, paginate, session } from "../../src/clients/typescript/index.ts";
import type { Atrium } from "../../src/clients/typescript/index.ts";
import { createGrpcTransport } from "../../src/clients/typescript/node/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { DriverError, languages } from "./driver.ts";
import type { Driver } from "./driver.ts";
import { randomOf } from "../support/random-of.ts";
import { FAULTS } from "./fault.ts";
import { startFaultProxy } from "./fault-proxy.ts";
import { startStreamFaultProxy } from "./stream-fault-proxy.ts";
import { ownerOf, signedIn } from "./support.ts";

/** Scripts for each client. Continuous integration sets more. */
const SCRIPTS = Number(process.env["CLIENT_SCRIPTS"] ?? 8);
/** Scripts mostly wait for their faults. The driver in Python makes as many calls at once. */
const AT_ONCE = SCRIPTS < 100 ? 8 : 32;
const CALLS = 6;
/** For a call with all its attempts: none of the faults takes longer, on any machine. */
const TIMEOUT_SECONDS = 120;

let app: TestApp;
let orgUuid: string;
beforeAll(async () => {
  app = await startApp({ clock: systemClock, env: { SERVICE_RATE_LIMITS: "off" } });
  orgUuid = (await (await signedIn(app)).atrium.access.getMe({})).orgUuid ?? "";
});
afterAll(() => app.close());

/** A client that is signed in, behind a proxy. Its failures are errors of the client. */
interface Player {
  create(name: string): Promise<string>;
  revoke(keyId: string): Promise<void>;
  me(): Promise<void>;
  /** Whether an error is one of a call, and not a broken message taken for an answer. */
  isFailure(error: unknown): boolean;
}

type SignIn = (url: string) => Promise<Player>;

const typescript =
  (transportTo?: (url: string) => Transport): SignIn =>
  async (url) => {
    const credential = session();
    const transport = transportTo?.(url);
    const atrium = createAtrium({
      baseUrl: url,
      credential,
      retries: 3,
      timeoutMs: TIMEOUT_SECONDS * 1_000,
      ...(transport !== undefined && { transport }),
    });
    await credential.signIn(await atrium.login.login(ownerOf(app)));
    return {
      create: async (name) => (await atrium.credentials.createApiKey({ orgUuid, name, scopes: ["read:users"] })).keyId,
      revoke: async (keyId) => void (await atrium.credentials.revokeApiKey({ orgUuid, keyId })),
      me: async () => void (await atrium.access.getMe({})),
      isFailure: (error) => isAtriumError(error),
    };
  };

const driven =
  (driver: () => Driver): SignIn =>
  async (url) => {
    const common = { url, token: await app.login(), retries: 3, timeout: TIMEOUT_SECONDS, org_uuid: orgUuid };
    return {
      create: async (name) => (await driver().run("create_key", { ...common, name })).key_id,
      revoke: async (keyId) => driver().run("revoke_key", { ...common, key_id: keyId }),
      me: async () => driver().run("me", common),
      isFailure: (error) => error instanceof DriverError && error.failure.kind === "call",
    };
  };

/** What a client was told of a key: its id, where its creation did not fail, and whether it was revoked. */
interface Told {
  keyId: string | undefined;
  revoked: "no" | "yes" | "unknown";
}

/** One script: a sign-in of its own behind a proxy of its own, which does something to two of three requests. */
async function play(
  client: string,
  signIn: SignIn,
  seed: number,
  startProxy: typeof startFaultProxy,
): Promise<Map<string, Told>> {
  const random = randomOf(seed);
  const proxy = await startProxy(app.url, random);
  const player = await signIn(proxy.url);
  // A revocation is sent once: what the network itself sends twice is not the client's doing.
  proxy.next = (rpc) => {
    if (random.chance(1 / 3)) return "none";
    const fault = random.pick(FAULTS);
    return fault === "duplicate" && rpc === "RevokeApiKey" ? "none" : fault;
  };
  const told = new Map<string, Told>();
  for (let nth = 0; nth < CALLS; nth++) {
    const name = `${client}-${seed}-${nth}`;
    const entry: Told = { keyId: undefined, revoked: "no" };
    told.set(name, entry);
    try {
      entry.keyId = await player.create(name);
      if (random.chance(0.5)) {
        entry.revoked = "unknown";
        await player.revoke(entry.keyId);
        entry.revoked = "yes";
      }
      await player.me();
    } catch (error) {
      if (!player.isFailure(error)) throw error;
    }
  }
  await proxy.close();
  return told;
}

/** What the service has otherwise than a client was told. Ends the keys, of which an organization has 1,000 at most. */
async function compare({ credentials }: Atrium, prefix: string, told: ReadonlyMap<string, Told>): Promise<string[]> {
  const keys = await paginate(credentials.listApiKeys, { orgUuid, q: prefix }).toArray();
  const byName = Map.groupBy(keys, ({ name }) => name);
  const wrong = [...told].filter(([name, { keyId, revoked }]) => {
    const found = byName.get(name) ?? [];
    if (found.length > 1) return true;
    if (keyId === undefined || revoked === "unknown") return false;
    return found[0]?.keyId !== keyId || (found[0].status === "revoked") !== (revoked === "yes");
  });
  for (const { keyId } of keys.filter(({ status }) => status === "active"))
    await credentials.revokeApiKey({ orgUuid, keyId });
  return wrong.map(([name]) => name);
}

async function check(client: string, signIn: SignIn, startProxy = startFaultProxy): Promise<void> {
  const { atrium } = await signedIn(app);
  const wrong: string[] = [];
  let [seed, asked, created] = [0, 0, 0];
  const work = async (): Promise<void> => {
    while (seed < SCRIPTS) {
      const nth = seed++;
      const told = await play(client, signIn, nth, startProxy);
      wrong.push(...(await compare(atrium, `${client}-${nth}-`, told)));
      asked += told.size;
      created += [...told.values()].filter(({ keyId }) => keyId !== undefined).length;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect(wrong).toEqual([]);
  // Most of what was asked for came about: the scripts are not all failures.
  expect(created).toBeGreaterThan(asked / 2);
}

const title = `after ${SCRIPTS} scripts of faults, the service has what the clients were told`;

it(`${title}: TypeScript`, () => check("TypeScript", typescript()), 7_200_000);

it(`${title}: TypeScript over gRPC`, async () => {
  const transportTo = (baseUrl: string): Transport => createGrpcTransport({ baseUrl });
  await check("gRPC", typescript(transportTo), startStreamFaultProxy);
}, 7_200_000);

for (const { name, missing, start } of languages())
  describe.skipIf(missing !== undefined)(`the client in ${name}`, () => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await start();
    });
    afterAll(() => driver.stop());
    it(
      `${title}: ${name}`,
      () =>
        check(
          name.replace(", ", "-"),
          driven(() => driver),
        ),
      7_200_000,
    );
  });
