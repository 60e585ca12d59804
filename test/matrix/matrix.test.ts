import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestApp } from "../support/app.ts";
import { createCallers } from "./callers.ts";
import type { Callers, Role } from "./callers.ts";
import { fill, kindOf, nothingFor, parametersOf, syntaxOf } from "./paths.ts";
import { guardedRoutes, expectedOutcome } from "./rules.ts";
import type { Guarded } from "./rules.ts";
import { BROKEN, forAll, sendConnect, sendRest, outcomeOf } from "./send.ts";
import type { Seen } from "./send.ts";
import { startMatrixApp } from "./world.ts";

const routes = guardedRoutes();
/** A refusal that does not say what the caller lacks. */
const NAMELESS = /lacks the power to do this/u;
const CHALLENGE = /^Bearer .*error="insufficient_user_authentication".*max_age=900/u;

let app: TestApp;
let callers: Callers;
beforeAll(async () => {
  app = await startMatrixApp();
  callers = await createCallers(app);
});
afterAll(() => app.close());

/** The parameters of a route: the organization and the app exist, the other ids do not. */
function parameters({ route, binding }: Guarded): (parameter: string) => string {
  return (parameter) =>
    parameter === "org_uuid" || parameter === "app_id"
      ? (callers.here[kindOf(route.path, parameter)] ?? "")
      : nothingFor(binding.rpc, route.path, parameter);
}

/** The difference between the response and the expectation; undefined when there is none. */
function faultOf(expected: string, seen: Seen): string | undefined {
  const { status, challenge, fault, text } = seen;
  const is = outcomeOf(seen);
  if (fault !== "") return `${is}: ${fault}`;
  if (status === 403 && NAMELESS.test(text)) return `${is} without the power that is missing: ${text}`;
  if (expected !== "passes" && is !== expected) return `${is} instead of ${expected}`;
  if (expected === "passes" && (status === 401 || status === 403 || status >= 500) && status !== 501)
    return `${is} instead of passing: ${seen.text}`;
  const right =
    status === 401
      ? challenge?.startsWith("Bearer") === true
      : seen.code === "step_up_required"
        ? CHALLENGE.test(challenge ?? "")
        : challenge === null;
  return right ? undefined : `${is} with WWW-Authenticate ${challenge}`;
}

/** Routes whose success would end the session that the other requests need, or organization A. */
const harmful = new Set([
  "POST /api/auth/logout",
  "DELETE /api/organizations/{org_uuid}",
  "POST /api/organizations/{org_uuid}/revoke-all-sessions",
  "DELETE /api/organizations/{org_uuid}/session-inventory",
]);
const keyOf = ({ route }: Guarded): string => `${route.method} ${route.path}`;

/** Callers that request every route over both protocols. */
const everywhere = new Set([
  "no token",
  "garbage",
  "expired token",
  "token of a session that ended",
  "owner",
  "limited",
  "owner of another organization",
  "key with every scope",
  "key to read users",
]);

/** The expected outcome of a role on each route; tenants.test.ts covers what platform admins change. */
const cases = (role: Role): { guarded: Guarded; expected: string }[] =>
  routes
    .map((guarded) => ({ guarded, expected: expectedOutcome(guarded, role) }))
    .filter(({ guarded, expected }) => expected !== "passes" || !harmful.has(keyOf(guarded)))
    .filter(({ guarded }) => !role.platform || role.here || keyOf(guarded) !== "PATCH /api/organizations/{org_uuid}");

async function overRest(role: Role, tried: ReturnType<typeof cases>): Promise<string[]> {
  const seen = await forAll(tried, async ({ guarded, expected }) => {
    const { method, path } = guarded.route;
    const body = method === "GET" || method === "DELETE" ? undefined : BROKEN;
    const wrong = faultOf(expected, await sendRest(app.url, method, fill(path, parameters(guarded)), role, body));
    return wrong === undefined ? [] : [`${method} ${path}: ${wrong}`];
  });
  return seen.flat();
}

async function overConnect(role: Role, tried: ReturnType<typeof cases>): Promise<string[]> {
  const seen = await forAll(tried, async ({ guarded, expected }) => {
    const { rpc } = guarded.binding;
    const value = parameters(guarded);
    const message = Object.fromEntries(
      parametersOf(guarded.route.path).map((name) => [
        name,
        syntaxOf(rpc, name) === "number" ? Number(value(name)) : value(name),
      ]),
    );
    // Only a decodable message names its organization or app.
    const needsMessage = expected.startsWith("404") || (guarded.words.has("app-admin") && !role.appAdmin);
    const messages = expected.startsWith("401")
      ? [BROKEN]
      : expected === "passes" || needsMessage
        ? [message]
        : [message, BROKEN];
    const wrong: string[] = [];
    for (const one of messages) {
      const what = faultOf(expected, await sendConnect(app.url, rpc, role, one));
      if (what !== undefined) wrong.push(`${rpc.name} with ${JSON.stringify(one)}: ${what}`);
    }
    return wrong;
  });
  return seen.flat();
}

/** Faults by role. Roles outside `everywhere` request a third of the routes each, in turn. */
async function faultsOfRoles(
  roles: Record<string, Role>,
  send: typeof overRest,
  beforeEach = (): void => undefined,
): Promise<Record<string, string[]>> {
  const wrong: Record<string, string[]> = {};
  for (const [nth, [name, role]] of Object.entries(roles).entries()) {
    beforeEach();
    const found = await send(
      role,
      cases(role).filter((_, at) => everywhere.has(name) || at % 3 === nth % 3),
    );
    if (found.length > 0) wrong[name] = found;
  }
  return wrong;
}

it("the matrix knows every route that requires a bearer token, and every caller", () => {
  expect(
    [...everywhere].filter(
      (name) => !(name in callers.unauthenticated || name in callers.people || name in callers.keys),
    ),
  ).toEqual([]);
  expect(routes.length).toBeGreaterThan(150);
  expect(new Set(routes.map(({ binding }) => binding.rpc)).size).toBeGreaterThan(150);
});

describe("Over REST", () => {
  const tried = routes.filter(({ route, binding }) =>
    parametersOf(route.path).some((name) => syntaxOf(binding.rpc, name) === "uuid"),
  );
  const send = ({ route, binding }: Guarded, token: string | undefined): Promise<Seen> => {
    const bad = fill(route.path, (name) =>
      syntaxOf(binding.rpc, name) === "uuid" ? "nonsense" : nothingFor(binding.rpc, route.path, name),
    );
    return sendRest(
      app.url,
      route.method,
      bad,
      { token },
      route.method === "GET" || route.method === "DELETE" ? undefined : BROKEN,
    );
  };

  it("a malformed id is refused before tenant, permissions and body, but never before the credential", async () => {
    const { limited } = callers.people;
    const wrong = await forAll(tried, async (guarded) => {
      const scim = guarded.words.has("scim");
      const [anonymous, known] = [
        outcomeOf(await send(guarded, undefined)),
        outcomeOf(await send(guarded, scim ? callers.people["scim token"]?.token : limited?.token)),
      ];
      return anonymous === "401 unauthorized" && known === "400 invalid_uuid"
        ? []
        : [`${guarded.route.method} ${guarded.route.path}: ${anonymous}, ${known}`];
    });
    expect(wrong.flat()).toEqual([]);
  });
});

describe.each([
  ["REST", overRest],
  ["Connect", overConnect],
] as const)("Over %s", (protocol, send) => {
  it("every invalid bearer token is refused alike", async () => {
    expect(await faultsOfRoles(callers.unauthenticated, send)).toEqual({});
  });

  it("every other caller gets the documented status", async () => {
    expect(await faultsOfRoles(callers.people, send)).toEqual({});
  });

  it("keys are allowed what their scopes permit", async () => {
    // Keys count for the person who made them, with sixty audit queries a minute; over Connect each sends two.
    // No later test needs a token that is valid longer.
    const nextMinute = (): void => (protocol === "Connect" ? app.clock.advance(61_000) : undefined);
    expect(await faultsOfRoles(callers.keys, send, nextMinute)).toEqual({});
  });
});
