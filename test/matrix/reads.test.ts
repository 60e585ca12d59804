import type { DescField } from "@bufbuild/protobuf";
import { ScalarType, getOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RateClass, access, rules } from "../../gen/atrium/options/v1/options_pb.ts";
import { callRest } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { rpcStates } from "../shape/built.ts";
import { bindings } from "../shape/contract-routes.ts";
import type { Binding } from "../shape/contract-routes.ts";
import { scimToken } from "./callers.ts";
import { fill, kindOf, nothingFor, parametersOf } from "./paths.ts";
import { sendConnect, outcomeOf } from "./send.ts";
import { platformAdmin, populate, publishApp, signIn, startMatrixApp } from "./world.ts";
import type { Side } from "./world.ts";

const built = new Set(
  rpcStates()
    .filter((state) => state.built)
    .map(({ rpc }) => rpc),
);
const unary = bindings().filter(({ rpc }) => built.has(rpc) && rpc.methodKind === "unary");
const reads = unary.filter(({ method }) => method === "GET");

let app: TestApp;
let side: Side;
let scim: string | undefined;
let platform: { token: string; elevated: string; org: string };
beforeAll(async () => {
  app = await startMatrixApp();
  platform = await platformAdmin(app);
  const { slug } = await publishApp(app, platform.token, platform.token);
  side = await populate(app, slug);
});
afterAll(() => app.close());

/** A new caller for a read, since the rate limit of audit queries is always on and tokens expire. */
async function bearerFor({ rpc, auth }: Binding): Promise<string | undefined> {
  if (auth === "public") return undefined;
  if (auth === "scim")
    return (scim ??= await scimToken(app, { org: side.owner.org, token: (await signIn(app, side.owner)).token }));
  if (getOption(rpc, access).rate === RateClass.AUDIT) app.clock.advance(61_000);
  if (/platform-admin|operator|superuser/u.test(auth)) return app.login();
  return (await signIn(app, side.owner)).token;
}

const pathOf = ({ rpc, path }: Binding): string =>
  fill(path, (name) => side.ids[kindOf(path, name)] ?? nothingFor(rpc, path, name));
const idsOf = ({ rpc, path }: Binding): Record<string, unknown> =>
  Object.fromEntries(parametersOf(path).map((one) => [one, side.ids[kindOf(path, one)] ?? nothingFor(rpc, path, one)]));
const call = (method: string, path: string, token: string | undefined): Promise<Answer> =>
  callRest(app.url, method, path, { token });

/** Fields that a read accepts in its query. */
function queryFields({ rpc, path }: Binding): DescField[] {
  const inPath = new Set(parametersOf(path));
  return rpc.input.fields.filter(
    (field) => !inPath.has(field.name) && (field.fieldKind === "scalar" || field.fieldKind === "enum"),
  );
}

/** Any value for a field: a duplicate is refused whatever its value. */
function anything(field: DescField): string {
  if (field.fieldKind !== "scalar" || field.scalar === ScalarType.STRING) return "x";
  return field.scalar === ScalarType.BOOL ? "true" : "1";
}

const name = ({ method, path }: Binding): string => `${method} ${path}`;

it("OPTIONS without CORS returns 204 with Allow on every route", async () => {
  const seen = await Promise.all(
    unary.map(async (one) => {
      const { status, headers } = await call("OPTIONS", pathOf(one), undefined);
      const allow = (headers.get("allow") ?? "").split(", ");
      const wanted = [one.method, "OPTIONS", ...(one.method === "GET" ? ["HEAD"] : [])];
      return status === 204 && wanted.every((method) => allow.includes(method))
        ? []
        : [`${name(one)}: ${status} ${allow.join()}`];
    }),
  );
  expect(seen.flat()).toEqual([]);
});

it("a Connect GET is possible for exactly the rpcs whose bindings are all GET", async () => {
  const query = "?connect=v1&encoding=json&message=%7B%7D";
  const methods = Map.groupBy(unary, ({ rpc }) => rpc);
  const seen = await Promise.all(
    [...methods].map(async ([rpc, all]) => {
      const { status } = await call("GET", `/${rpc.parent.typeName}/${rpc.name}${query}`, undefined);
      const taken = all.every(({ method }) => method === "GET");
      return taken === (status !== 405) ? [] : [`${rpc.name}: ${status}`];
    }),
  );
  expect(seen.flat()).toEqual([]);
});

describe.each(reads.map((read) => [name(read), read] as const))("%s", (_name, read) => {
  it("a read keeps the conventions of reads", async () => {
    const [path, token] = [pathOf(read), await bearerFor(read)];
    const plain = await call("GET", path, token);
    expect(plain.status, plain.text).toBeLessThan(500);
    const same = { status: plain.status };

    const head = await call("HEAD", path, token);
    expect(head, "HEAD").toMatchObject({ ...same, text: "" });
    expect(await call("GET", `${path}?nope=1&nope=2&%=3`, token), "an unknown parameter").toMatchObject(same);

    for (const field of queryFields(read)) {
      expect(await call("GET", `${path}?${field.name}=`, token), `an empty ${field.name}`).toMatchObject(same);
      const errors = read.auth === "scim" ? {} : { errors: [{ field: field.name, code: "repeated" }] };
      const twice = { status: 400, body: { code: "validation_error", ...errors } };
      const value = anything(field);
      for (const other of [field.name, field.jsonName]) {
        expect(
          await call("GET", `${path}?${field.name}=${value}&${other}=${value}`, token),
          `${field.name} twice`,
        ).toMatchObject(twice);
      }
    }
  });
});

const windowOf = (read: Binding): DescField[] =>
  queryFields(read).filter((field) => field.name === "limit" || field.name === "offset");
const paged = reads.filter((read) => windowOf(read).length > 0);

describe.each(paged.map((read) => [name(read), read] as const))("The window of %s", (_name, read) => {
  it("a limit or offset out of range is refused, over Connect too, and the bounds are accepted", async () => {
    const [path, token] = [pathOf(read), await bearerFor(read)];
    for (const field of windowOf(read)) {
      const { min, max } = getOption(field, rules);
      const [least, most] = [
        field.name === "limit" ? 1 : 0,
        field.name === "limit" ? (getOption(read.rpc, access).rate === RateClass.AUDIT ? 500 : 200) : 10_000,
      ];
      expect([min ?? 0, max]).toEqual([least, most]);
      const refused = { status: 400, body: { code: "validation_error", errors: [{ field: field.name }] } };
      for (const value of [least - 1, most + 1, "1.5", "x", "99999999999"]) {
        expect(await call("GET", `${path}?${field.name}=${value}`, token), `${field.name}=${value}`).toMatchObject(
          refused,
        );
      }
      const message = (value: unknown) => ({ ...idsOf(read), [field.name]: value });
      for (const value of [most + 1, -1, 1.5]) {
        expect(
          outcomeOf(await sendConnect(app.url, read.rpc, { token }, message(value))),
          `${field.name} ${value} over Connect`,
        ).toBe("400 validation_error");
      }
      for (const value of [least, most])
        expect((await call("GET", `${path}?${field.name}=${value}`, token)).status, `${field.name}=${value}`).toBe(200);
    }
  });
});
