import { getOption, hasOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { Credential, Power, access, rest } from "../../gen/atrium/options/v1/options_pb.ts";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { bindings, routeTable, rpcs } from "./contract-routes.ts";

const bound = bindings();
const line = ({ method, path, auth, status }: { method: string; path: string; auth: string; status: number }) =>
  `${method} ${path} ${auth} ${status}`;

describe("the contract and the route table", () => {
  test("every route of the table is bound exactly once, with its callers and status, and no other route exists", () => {
    expect(bound.map(line).sort()).toEqual(routeTable().map(line).sort());
  });

  test("no two bindings overlap", () => {
    const all = bound.map(({ rpc, method, path }) => ({
      name: rpc.toString(),
      method,
      segments: path.split("/").map((part) => (part.startsWith("{") ? "*" : part)),
    }));
    const overlaps = all.flatMap((a, at) =>
      all
        .slice(at + 1)
        .filter((b) => a.method === b.method && collide(a.segments, b.segments))
        .map((b) => `${a.name} and ${b.name}`),
    );
    expect(overlaps).toEqual([]);
  });

  test("every variable of a path is a field of the request", () => {
    const missing = bound.flatMap(({ rpc, path }) =>
      [...path.matchAll(/\{(\w+)\}/g)]
        .map(([, name = ""]) => name)
        .filter((name) => !rpc.input.fields.some((field) => field.name === name))
        .map((name) => `${rpc.toString()}: ${name}`),
    );
    expect(missing).toEqual([]);
  });
});

describe("the options of an rpc", () => {
  test("every rpc declares who may call it and where it is bound", () => {
    const silent = rpcs.filter(
      (rpc) => getOption(rpc, access).credential === Credential.UNSPECIFIED || !hasOption(rpc, http),
    );
    expect(silent.map(String)).toEqual([]);
  });

  test("the fields named as tenant and app are fields of the request", () => {
    const wrong = rpcs.filter((rpc) => {
      const { tenant, powers } = getOption(rpc, access);
      const names = rpc.input.fields.map((field) => field.name);
      return (
        (tenant !== "" && !names.includes(tenant)) || (powers.includes(Power.APP_ADMIN) && !names.includes("app_id"))
      );
    });
    expect(wrong.map(String)).toEqual([]);
  });

  test("a path with an organization that is not public names it as tenant", () => {
    const loose = bound.filter(
      ({ path, rpc }) =>
        path.includes("{org_uuid}") &&
        getOption(rpc, access).credential !== Credential.PUBLIC &&
        getOption(rpc, access).tenant === "",
    );
    expect(loose.map(({ path }) => path)).toEqual([]);
  });

  test("the resource of every rpc is one that a scope can name", () => {
    const known = [
      "",
      ...["users", "roles", "sessions", "events", "keys", "credentials", "secrets", "certificates", "identities"],
      ...["apps", "installs", "webhooks", "billing", "templates", "gateway"],
    ];
    const wrong = rpcs.filter((rpc) => !known.includes(getOption(rpc, access).resource));
    expect(wrong.map(String)).toEqual([]);
  });

  test("an rpc that returns 204 has an empty response message", () => {
    const wrong = rpcs.filter(
      (rpc) => getOption(rpc, rest).status === 204 && rpc.output.typeName !== "google.protobuf.Empty",
    );
    expect(wrong.map(String)).toEqual([]);
  });

  test("a POST that returns 201 to a caller, or rotates a key or a secret, honours Idempotency-Key", () => {
    const deaf = bound.filter(
      ({ rpc, method, status, path }) =>
        method === "POST" &&
        (status === 201 || /\/rotate(?:-secret)?$/u.test(path)) &&
        getOption(rpc, access).credential === Credential.BEARER &&
        !getOption(rpc, access).idempotent,
    );
    expect(deaf.map(({ path }) => path)).toEqual([]);
  });

  test("exactly the unary rpcs with nothing but GET bindings have no side effects", () => {
    const wrong = rpcs.filter((rpc) => {
      const onlyGet = bound.filter((binding) => binding.rpc === rpc).every(({ method }) => method === "GET");
      return (
        (rpc.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) !== (rpc.methodKind === "unary" && onlyGet)
      );
    });
    expect(wrong.map(String)).toEqual([]);
  });
});

/**
 * True when some path fits both and neither is the more exact one: a literal beats a variable where the two first
 * differ, unless they cross.
 */
function collide(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length || a.some((part, at) => part !== b[at] && part !== "*" && b[at] !== "*")) return false;
  const aExact = a.some((part, at) => part !== "*" && b[at] === "*");
  const bExact = b.some((part, at) => part !== "*" && a[at] === "*");
  return aExact === bExact;
}
