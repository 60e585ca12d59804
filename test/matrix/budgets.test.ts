import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { fill, nothingFor, syntaxOf } from "./paths.ts";
import { guardedRoutes } from "./rules.ts";
import type { Guarded } from "./rules.ts";
import { BROKEN, forAll } from "./send.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_RATE_LIMITS: "on" } });
});
afterAll(() => app.close());

const routes = guardedRoutes().filter(({ words }) => !words.has("scim"));
const keyOf = ({ route }: Guarded): string => `${route.method} ${route.path}`;

const isAudit = ({ route }: Guarded): boolean =>
  route.method === "GET" && /\/(?:auth|audit)-events|^\/api\/auth\/events/u.test(route.path);
const isVault = ({ route }: Guarded): boolean => /\/(?:secrets|kms-keys)/u.test(route.path);
const reads = ({ route }: Guarded): boolean => route.method === "GET";

/** The budgets of a person (decisions 5.5, 13): requests that spend each, and the routes that it refuses then. */
const budgets: Readonly<
  Record<string, { spent: number; by: (who: Somebody) => string; on: (one: Guarded) => boolean }>
> = {
  "sixty audit queries": { spent: 60, by: () => "GET /api/auth/events", on: isAudit },
  "six hundred reads of the vault": {
    spent: 600,
    by: ({ org }) => `GET /api/admin/organizations/${org}/secrets`,
    on: (one) => isVault(one) && reads(one),
  },
  "sixty writes of the vault": {
    spent: 60,
    by: ({ org }) => `DELETE /api/admin/organizations/${org}/secrets/none`,
    on: (one) => isVault(one) && !reads(one),
  },
  "six hundred other requests": {
    spent: 600,
    by: () => "GET /api/auth/me",
    on: (one) => !isAudit(one) && !isVault(one),
  },
};

/** Keys of the routes that a budget refuses to a person. Ids and bodies are malformed, so that nothing is done. */
async function refusedTo(token: string): Promise<string[]> {
  const refused = await forAll(routes, async (one) => {
    const { method, path } = one.route;
    const filled = fill(path, (name) =>
      syntaxOf(one.binding.rpc, name) === "uuid" ? "nonsense" : nothingFor(one.binding.rpc, path, name),
    );
    const body = reads(one) || method === "DELETE" ? undefined : BROKEN;
    const { status } = await app.call(method, filled, { token, body });
    return status === 429 ? [keyOf(one)] : [];
  });
  return refused.flat().sort();
}

it.each(Object.keys(budgets))("after %s of a person in a minute exactly those routes refuse them", async (what) => {
  const budget = budgets[what];
  if (budget === undefined) throw new Error(what);
  const who = await founder(app);
  const token = await elevated(app, who.token);
  const [method = "", path = ""] = budget.by(who).split(" ");
  const spend = await forAll(
    Array.from({ length: budget.spent }),
    async () => (await app.call(method, path, { token })).status,
  );
  expect(spend.filter((status) => status === 429).length).toBeLessThan(5);
  expect(await refusedTo(token)).toEqual(routes.filter(budget.on).map(keyOf).sort());
  app.clock.advance(61_000);
});
