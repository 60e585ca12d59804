import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestApp } from "../support/app.ts";
import { bindings, routeTable } from "../shape/contract-routes.ts";
import type { Route } from "../shape/contract-routes.ts";
import { scimToken } from "./callers.ts";
import { fill, kindOf, nothingFor } from "./paths.ts";
import { forAll, outcomeOf, sendConnect } from "./send.ts";
import { openStage } from "./late-writes-stage.ts";
import type { Stage } from "./late-writes-stage.ts";
import { startMatrixApp } from "./world.ts";

const keyOf = ({ method, path }: Route): string => `${method} ${path}`;
const known = new Map(bindings().map((binding) => [keyOf(binding), binding]));

/** Routes that take something else than JSON, or whose bytes are signed. */
const others: ReadonlySet<string> = new Set([
  "POST /api/auth/oidc/{connection_uuid}/backchannel-logout",
  "POST /api/billing/webhooks/{provider}",
  "POST /api/marketplace/installs/{install_id}/provisioning",
  "PUT /api/profile/picture",
]);
const routes = routeTable().filter(
  ({ method, path }) => /^(?:POST|PUT|PATCH)$/u.test(method) && !others.has(`${method} ${path}`),
);

/** Areas that say `bad_request` for their fields (decisions 1.13). */
const PLAIN = /\/mfa\/|\/step-up\/|\/magic-link\//u;

/** Has two types, and is refused to those who accept none before its body is (decisions 1.7). */
const ACCEPTANCE = "POST /api/auth/invite/accept";

const JSON_TYPE = "application/json";
const MIB = 2 ** 20;
const long = JSON.stringify({ zz: "x".repeat(MIB) });
/** Bodies that no route takes; those without a code are refused by the code for fields of the area. */
const refused: readonly [
  what: string,
  body: NonNullable<RequestInit["body"]>,
  headers: Record<string, string>,
  outcome?: string,
][] = [
  ["text", "{}", { "content-type": "text/plain" }, "415 unsupported_media_type"],
  ["a form", "a=b", { "content-type": "application/x-www-form-urlencoded" }, "415 unsupported_media_type"],
  ["no content type", new Uint8Array([123, 125]), {}, "415 unsupported_media_type"],
  ["another coding", "{}", { "content-type": JSON_TYPE, "content-encoding": "br" }, "415 unsupported_media_type"],
  ["broken JSON", "{", { "content-type": JSON_TYPE }, "400 bad_request"],
  ["a member twice", '{"zz":1,"zz":2}', { "content-type": JSON_TYPE }, "400 bad_request"],
  ["33 levels", `{"zz":${"[".repeat(32)}${"]".repeat(32)}}`, { "content-type": JSON_TYPE }, "400 bad_request"],
  ["a NUL", String.raw`{"zz":"\u0000"}`, { "content-type": JSON_TYPE }, "400 bad_request"],
  ["a lone surrogate", String.raw`{"zz":"\ud800"}`, { "content-type": JSON_TYPE }, "400 bad_request"],
  ["more than 1 MiB", long, { "content-type": JSON_TYPE }, "413 payload_too_large"],
  [
    "more once inflated",
    gzipSync(long),
    { "content-type": JSON_TYPE, "content-encoding": "gzip" },
    "413 payload_too_large",
  ],
  [
    "no JSON from a client of another type",
    "{",
    { "content-type": JSON_TYPE, accept: "image/x-none" },
    "400 bad_request",
  ],
  ["an array", "[]", { "content-type": JSON_TYPE }],
  ["null", "null", { "content-type": JSON_TYPE }],
];

let app: TestApp;
let stage: Stage;
let scim: string;
beforeAll(async () => {
  app = await startMatrixApp();
  stage = await openStage(app);
  scim = await scimToken(app, { org: stage.side.owner.org, token: stage.side.token });
});
afterAll(() => app.close());

/** A path in which the organization and the app exist, and nothing else: a body is refused before its object is 404. */
function pathOf({ method, path }: Route): string {
  const rpc = known.get(`${method} ${path}`)?.rpc;
  if (rpc === undefined) throw new Error(`${method} ${path} is not in the contract`);
  return fill(path, (name) =>
    /^(?:org_uuid|app_id)$/u.test(name) ? (stage.side.ids[name] ?? "") : nothingFor(rpc, path, kindOf(path, name)),
  );
}

const bearerOf = ({ auth }: Route): Record<string, string> => ({
  authorization: `Bearer ${auth === "scim" ? scim : stage.actor.token}`,
});

it.each(refused)(
  "every route refuses a body of %s, before its object is looked up",
  async (_what, body, headers, fixed) => {
    const faults = await forAll(routes, async (route) => {
      const { method, path } = route;
      const answer = await fetch(app.url + pathOf(route), {
        method,
        body,
        headers: { ...headers, ...bearerOf(route) },
      });
      const shown = (await answer.json()) as { code?: string };
      const found = `${answer.status} ${shown.code}`;
      const isOffered = !("accept" in headers && keyOf(route) === ACCEPTANCE);
      const fields = PLAIN.test(path) ? "400 bad_request" : "400 validation_error";
      const expected = isOffered ? (fixed ?? fields) : "406 not_acceptable";
      return found === expected ? [] : [`${keyOf(route)}: ${found} instead of ${expected}`];
    });
    expect(faults.flat()).toEqual([]);
  },
);

/** Messages that no procedure takes. */
const unreadable = refused.flatMap(([what, body, , outcome]) =>
  typeof body === "string" && outcome === "400 bad_request" ? [[what, body] as const] : [],
);

it.each(unreadable)("every procedure refuses a message of %s over Connect", async (_what, body) => {
  const tried = bindings().filter((binding) => binding.rpc.methodKind === "unary" && !others.has(keyOf(binding)));
  const faults = await forAll(tried, async ({ rpc, auth }) => {
    const token = auth === "scim" ? scim : stage.actor.token;
    const found = outcomeOf(await sendConnect(app.url, rpc, { token }, body));
    return found === "400 bad_request" ? [] : [`${rpc.name}: ${found}`];
  });
  expect(faults.flat()).toEqual([]);
});
