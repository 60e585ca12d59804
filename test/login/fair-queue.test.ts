import { availableParallelism } from "node:os";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

// Many passwords are hashed.
let app: TestApp;
beforeAll(async () => {
  // At the cost of production: the flood must not be over before the others come.
  app = await startApp({ env: { SERVICE_TRUSTED_PROXIES: "127.0.0.1" }, costlyPasswords: true });
});
afterAll(() => app.close());

it.each([
  ["an address", () => "192.0.2.1"],
  ["a network of 64 bits", (at: number) => `2001:db8::${at.toString(16)}`],
])("a login from another address overtakes a flood of logins from %s", async (_what, flooding) => {
  const { email, org } = app.owner;
  const body = { email, password: "wrong", org_name: org };
  const order: string[] = [];
  const login = async (who: string, address: string): Promise<number> => {
    const { status } = await app.call("POST", "/api/auth/login", { body, headers: { "x-forwarded-for": address } });
    if (status === 401) order.push(who);
    return status;
  };
  const many = 40 * availableParallelism();
  const flood = Array.from({ length: many }, (_, at) => login("flood", flooding(at)));
  // The first response, whichever it is: requests of one client may arrive in any order.
  await Promise.race(flood);
  const others = ["192.0.2.2", "192.0.2.3"].map((address) => login(address, address));
  expect(await Promise.all(others)).toEqual([401, 401]);
  // On a busy machine the flood is more than ten seconds of work.
  for (const status of await Promise.all(flood)) expect([401, 503]).toContain(status);
  const after = Math.max(...["192.0.2.2", "192.0.2.3"].map((address) => order.indexOf(address)));
  // First come, first served would leave them last.
  expect(order.length - after).toBeGreaterThan(1);
});
