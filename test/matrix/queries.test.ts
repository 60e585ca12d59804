import { getOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RateClass, access } from "../../gen/atrium/options/v1/options_pb.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { outcome } from "../support/people.ts";
import { bindings } from "../shape/contract-routes.ts";
import type { Binding } from "../shape/contract-routes.ts";
import { openStage } from "./late-writes-stage.ts";
import type { Stage } from "./late-writes-stage.ts";
import { pathOf } from "./late-writes.ts";
import { parametersOf } from "./paths.ts";
import { startMatrixApp } from "./world.ts";

let app: TestApp;
let stage: Stage;
beforeAll(async () => {
  app = await startMatrixApp();
  stage = await openStage(app);
});
afterAll(() => app.close());

const reads = bindings().filter(({ method, auth }) => method === "GET" && auth !== "scim");
const keyOf = ({ method, path }: Binding): string => `${method} ${path}`;

/** Names of the parameters in the query of a read. */
function queryOf({ rpc, path }: Binding): string[] {
  const inPath = new Set(parametersOf(path));
  return rpc.input.fields.map(({ name }) => name).filter((name) => !inPath.has(name));
}

async function read(
  binding: Binding,
  query: Readonly<Record<string, string>>,
  method = "GET",
  headers: Record<string, string> = {},
): Promise<Answer> {
  // At most one of the sixty audit queries a minute.
  if (getOption(binding.rpc, access).rate === RateClass.AUDIT) app.clock.advance(1_100);
  const path = `${pathOf(binding, stage, {})}?${new URLSearchParams(query).toString()}`;
  return app.call(method, path, { token: stage.actor.token, headers });
}

/** Parameters that take any text, whatever the route, and those of one route. */
const texts: ReadonlySet<string> = new Set(["q", "actor", "product", "email GET /api/users"]);
/** Routes whose parameters are names to look up, or what an identity provider sends. */
const free = /^\/api\/auth\/(?:orgs\/check|sign-in-options|oidc\/)/u;
/** Parameters with a code of their own, of the routes of events. */
const codes: Readonly<Record<string, string>> = {
  type: "400 invalid_type",
  from: "400 invalid_date_range",
  to: "400 invalid_date_range",
};

it("every parameter of a query that is not any text refuses a value of another form, by its name", async () => {
  const faults: string[] = [];
  for (const binding of reads.filter(({ path }) => !free.test(path))) {
    const names = queryOf(binding).filter((name) => !texts.has(name) && !texts.has(`${name} ${keyOf(binding)}`));
    for (const name of names.filter((one) => one !== "cursor")) {
      const answer = await read(binding, { [name]: "{x}" });
      const own = /(?:auth|audit)-events|auth\/events/u.test(binding.path) ? codes[name] : undefined;
      const expected = own ?? `400 validation_error ${name}`;
      const field = own === undefined ? ` ${answer.body.errors?.[0]?.field}` : "";
      const found = outcome(answer) + field;
      if (found !== expected) faults.push(`${keyOf(binding)} ${name}: ${found} instead of ${expected}`);
    }
  }
  expect(faults).toEqual([]);
});

const paged = reads.filter((binding) => queryOf(binding).includes("limit"));

it("every list has 50 items a page by default, and repeats the window that it is asked for", async () => {
  const faults: string[] = [];
  for (const binding of paged) {
    for (const [query, limit, offset] of [
      [{}, 50, 0],
      [{ limit: "7", offset: "1" }, 7, 1],
    ] as const) {
      const { status, body } = await read(binding, query);
      const found = [status, body.limit, body.offset, typeof body.total];
      if (found.join() !== [200, limit, offset, "number"].join()) faults.push(`${keyOf(binding)}: ${found.join()}`);
    }
  }
  expect(faults).toEqual([]);
  expect(paged.length).toBeGreaterThan(30);
});

describe.each(reads.filter(({ rpc }) => rpc.methodKind !== "unary").map((one) => [keyOf(one), one] as const))(
  "%s, which streams",
  (_name, binding) => {
    it("HEAD has the type of the stream and ends, and OPTIONS is 204 with Allow", async () => {
      const head = await read(binding, {}, "HEAD");
      const type = binding.path.endsWith("/watch") ? "application/x-ndjson" : "application/json";
      expect([head.status, head.headers.get("content-type"), head.text]).toEqual([200, type, ""]);
      const { status, headers } = await read(binding, {}, "OPTIONS");
      expect([status, headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
    });
  },
);

it("no read but the export, which has several types, is 406 to a client that accepts none of its types", async () => {
  const refusing: string[] = [];
  for (const binding of reads) {
    const method = binding.rpc.methodKind === "unary" ? "GET" : "HEAD";
    const [any, none] = [await read(binding, {}, method), await read(binding, {}, method, { accept: "image/x-none" })];
    if (none.status !== any.status) refusing.push(`${keyOf(binding)}: ${none.status}`);
  }
  expect(refusing).toEqual(["GET /api/organizations/{org_uuid}/audit-events/export: 406"]);
});

/** Lists that are in the order of time (decisions 17.6). */
const TIMED = /(?:auth|audit)-events$|auth\/events$|\/deliveries$|installs$|session-inventory$|\/sessions$|\/history$/u;

it("every list in the order of time has a cursor, which no other organization may use", async () => {
  const timed = reads.filter(({ path, rpc }) => TIMED.test(path) && rpc.methodKind === "unary");
  expect(timed.filter((binding) => !queryOf(binding).includes("cursor")).map(keyOf)).toEqual([]);
  const other = await openStage(app);
  const used: string[] = [];
  for (const binding of timed) {
    const { next_cursor: cursor } = (await read(binding, { limit: "1", cursor: "" })).body as { next_cursor?: string };
    // Those of platform admins are of no organization.
    if (cursor === undefined || binding.auth === "platform-admin") continue;
    const path = `${pathOf(binding, other, {})}?${new URLSearchParams({ limit: "1", cursor }).toString()}`;
    expect(outcome(await app.call("GET", path, { token: other.actor.token })), path).toBe("400 invalid_cursor");
    used.push(keyOf(binding));
  }
  expect(used.length).toBeGreaterThanOrEqual(5);
});
