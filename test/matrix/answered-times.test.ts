import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestApp } from "../support/app.ts";
import { tickingClock } from "../support/clock.ts";
import { rpcStates } from "../shape/built.ts";
import { bindings } from "../shape/contract-routes.ts";
import { scimToken } from "./callers.ts";
import { fill, kindOf, nothingFor } from "./paths.ts";
import { platformAdmin, populate, publishApp, startMatrixApp } from "./world.ts";

/** Fields that never change once an object has them. */
const FIXED = ["created_at", "expires_at", "granted_at", "not_before", "not_after"];
/** Ids in answers that name another object than the one they are in. */
const OTHERS = new Set(["org_uuid", "user_uuid", "service_identity_id", "identity_id", "app_id", "user_id"]);

let app: TestApp;
/** The values of a field of an object in answers, each with the first answer that had it, by object and field. */
const said = new Map<string, Map<unknown, string>>();

/** Notes the times in an answer, by the ids of their objects. */
function note(answer: unknown, by: string): void {
  if (answer === null || typeof answer !== "object") return;
  const members = Object.entries(answer);
  const ids = members.filter(([name, value]) => /^id$|_(?:uu)?id$/u.test(name) && typeof value === "string");
  const [, id] = ids.find(([name]) => !OTHERS.has(name)) ?? ids.find(([name]) => name !== "org_uuid") ?? [];
  for (const [name, value] of members) {
    if (id !== undefined && FIXED.includes(name)) {
      const field = `${name} of ${String(id)}`;
      const values = said.get(field) ?? new Map<unknown, string>();
      said.set(field, values.set(value, values.get(value) ?? by));
    } else note(value, by);
  }
}

beforeAll(async () => {
  const started = await startMatrixApp(tickingClock());
  app = {
    ...started,
    async call(method, path, options) {
      const answer = await started.call(method, path, options);
      if (answer.status < 300) note(answer.body, `${method} ${path}`);
      return answer;
    },
  };
});
afterAll(() => app.close());

it("no read contradicts the times that the answer to a creation states", async () => {
  const platform = await platformAdmin(app);
  const { slug } = await publishApp(app, platform.token, platform.token);
  const { owner, token, ids } = await populate(app, slug);
  const scim = await scimToken(app, { org: owner.org, token });
  const built = new Set(rpcStates().flatMap(({ built: isBuilt, rpc }) => (isBuilt ? [rpc] : [])));
  for (const { rpc, method, path, auth } of bindings()) {
    if (method !== "GET" || rpc.methodKind !== "unary" || !built.has(rpc)) continue;
    const bearer = /platform-admin|operator|superuser/u.test(auth) ? platform.token : token;
    await app.call(
      "GET",
      fill(path, (name) => ids[kindOf(path, name)] ?? nothingFor(rpc, path, name)),
      {
        token: auth === "scim" ? scim : bearer,
      },
    );
  }
  const twice = [...said].filter(([, values]) => values.size > 1);
  expect(twice.map(([name, values]) => `${name}: ${[...values.values()].join(", ")}`)).toEqual([]);
  expect(said.size).toBeGreaterThan(30);
});
