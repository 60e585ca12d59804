import { createHash, randomInt } from "node:crypto";
import { split } from "shamir-secret-sharing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MASTER_KEY, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { sealOf, secretsOf } from "./support.ts";

const STEPS = 120;
const WRONG_KEY = Buffer.alloc(32, 1);

interface Instance {
  /** Whether it was started with the master key. */
  hasKey: boolean;
  seal: Awaited<ReturnType<typeof sealOf>>;
  secrets: ReturnType<typeof secretsOf>;
}

const apps: TestApp[] = [];
const instances: Instance[] = [];
let shares: string[];
beforeAll(async () => {
  const first = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_TTL_PAIR: "1d" } });
  apps.push(first, await startApp({ databaseUrl: first.databaseUrl, clock: first.clock, sealedVault: true }));
  const who = await founder(first);
  await secretsOf(first, who).put("kept", "value");
  for (const app of apps)
    instances.push({ hasKey: app === first, seal: await sealOf(app), secrets: secretsOf(app, who) });
  shares = (await split(new Uint8Array(MASTER_KEY), 5, 3)).map((share) => Buffer.from(share).toString("base64"));
});
afterAll(async () => {
  for (const app of apps.reverse()) await app.close();
});

/** What the seal is supposed to be. */
interface Model {
  sealed: boolean;
  /** Whether an operator has entered the key since the vault was sealed. */
  entered: boolean;
  shares: Map<number, string>;
}

const isOpen = (model: Model, { hasKey }: Instance): boolean => !model.sealed && (hasKey || model.entered);

function reopened(model: Model): void {
  Object.assign(model, { sealed: false, entered: true });
  model.shares.clear();
}

/** Enters a share in the model; returns the status of the response. */
function enterShare(model: Model, share: string): number {
  const x = Buffer.from(share, "base64").at(-1) ?? 0;
  const before = model.shares.get(x);
  if (before === share) return 200;
  if (before === undefined && model.shares.size < 2) {
    model.shares.set(x, share);
    return 200;
  }
  const isRight = before === undefined && [...model.shares.values(), share].every((one) => shares.includes(one));
  if (isRight) reopened(model);
  else model.shares.clear();
  return isRight ? 200 : 400;
}

/** A share whose value is wrong, at the coordinate of a right one. */
function spoiled(share: string): string {
  const bytes = Buffer.from(share, "base64");
  bytes[0] = (bytes[0] ?? 0) ^ 0xff;
  return bytes.toString("base64");
}

test("two instances agree with a model of the seal after every step of a random sequence", async () => {
  const seed = randomInt(2 ** 31);
  let drawn = 0;
  const draw = (below: number): number =>
    createHash("sha256").update(`${seed}/${drawn++}`).digest().readUInt32BE() % below;
  const pick = <T>(from: readonly T[]): T => from[draw(from.length)] as T;
  const model: Model = { sealed: false, entered: false, shares: new Map() };
  const taken: string[] = [];

  const steps: Record<string, (instance: Instance) => Promise<void>> = {
    async seal(instance) {
      expect((await instance.seal.seal()).status).toBe(204);
      if (model.sealed) return;
      Object.assign(model, { sealed: true, entered: false });
      model.shares.clear();
    },
    async key(instance) {
      const { status } = await instance.seal.unseal({ key: MASTER_KEY.toString("base64") });
      expect(status).toBe(200);
      if (!isOpen(model, instance)) reopened(model);
    },
    async wrongKey(instance) {
      const { status } = await instance.seal.unseal({ key: WRONG_KEY.toString("base64") });
      expect(status).toBe(isOpen(model, instance) ? 200 : 400);
      if (!isOpen(model, instance)) model.shares.clear();
    },
    async share(instance) {
      const share = pick(shares);
      const { status } = await instance.seal.unseal({ share });
      expect(status).toBe(isOpen(model, instance) ? 200 : enterShare(model, share));
    },
    async wrongShare(instance) {
      const share = spoiled(pick(shares));
      const { status } = await instance.seal.unseal({ share });
      expect(status).toBe(isOpen(model, instance) ? 200 : enterShare(model, share));
    },
    async write(instance) {
      const { status } = await instance.secrets.put("kept", "value");
      expect(status).toBe(isOpen(model, instance) ? 200 : 423);
    },
  };
  // Shares are entered most often, since three of them have to meet.
  const names = ["seal", "key", "wrongKey", "share", "share", "share", "share", "share", "wrongShare", "write"];

  for (let step = 0; step < STEPS; step++) {
    const [name, at] = [pick(names), draw(instances.length)];
    taken.push(`${name} on ${at}`);
    const context = `seed ${seed}: ${taken.slice(-12).join(", ")}`;
    try {
      await steps[name]?.(instances[at] as Instance);
    } catch (cause) {
      throw new Error(context, { cause });
    }
    for (const instance of instances) {
      const open = isOpen(model, instance);
      const [read, status] = await Promise.all([instance.secrets.get("kept"), instance.seal.status()]);
      expect([read.status, status.body], context).toEqual([
        open ? 200 : 423,
        { sealed: !open, threshold: 3, shares: 5, progress: open ? 0 : model.shares.size },
      ]);
    }
  }
});
