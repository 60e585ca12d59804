import { create } from "@bufbuild/protobuf";
import type { DescMethod } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { target } from "../mtls/client.ts";
import type { Presented } from "../mtls/client.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder } from "../support/people.ts";
import { createCallers } from "./callers.ts";
import type { Callers } from "./callers.ts";
import { nothingFor, parametersOf, syntaxOf } from "./paths.ts";
import { guardedRoutes, expectedOutcome } from "./rules.ts";
import type { Guarded } from "./rules.ts";
import { forAll, sendRest, outcomeOf } from "./send.ts";
import { startMatrixApp } from "./world.ts";

let app: TestApp;
let callers: Callers;
let transports: Record<string, Transport>;
beforeAll(async () => {
  app = await startMatrixApp();
  callers = await createCallers(app);
  transports = {
    Connect: createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" }),
    gRPC: createGrpcTransport({ baseUrl: app.url }),
    "gRPC-Web": createGrpcWebTransport({ baseUrl: app.url, httpVersion: "1.1" }),
  };
});
afterAll(() => app.close());

const secured = new Map<string, Transport>();

/** A transport to the listener of mutual TLS; HTTP/2 connections are kept. */
function overMutualTls(protocol: string, { cert, key }: Presented): Transport {
  const name = `${protocol} ${cert}`;
  const { url: baseUrl, ca } = target(app);
  const nodeOptions = { ca, cert, key, servername: "localhost" };
  const transport =
    secured.get(name) ??
    (protocol === "gRPC"
      ? createGrpcTransport({ baseUrl, nodeOptions })
      : createGrpcWebTransport({ baseUrl, httpVersion: "2", nodeOptions }));
  secured.set(name, transport);
  return transport;
}

/** A call in binary: `200`, or status and code, with the challenge where there is one. */
async function binary(
  transport: Transport,
  rpc: DescMethod,
  token: string | undefined,
  message: Record<string, unknown>,
): Promise<string> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  try {
    if (rpc.methodKind === "unary") await transport.unary(rpc as never, undefined, 10_000, headers, message);
    else {
      const { message: stream } = await transport.stream(
        rpc as never,
        undefined,
        10_000,
        headers,
        (async function* () {
          yield message;
        })(),
      );
      for await (const _ of stream as AsyncIterable<unknown>) break;
    }
    return "200";
  } catch (reason) {
    const error = ConnectError.from(reason);
    const info = error.findDetails(ErrorInfoSchema)[0] ?? create(ErrorInfoSchema, { reason: error.message });
    const challenge = error.metadata.get("www-authenticate");
    const wanted =
      info.metadata["http_status"] === "401"
        ? challenge?.startsWith("Bearer") === true
        : info.reason === "STEP_UP_REQUIRED"
          ? /insufficient_user_authentication.*max_age=900/u.test(challenge ?? "")
          : challenge === null;
    return `${info.metadata["http_status"]} ${info.reason.toLowerCase()}${wanted ? "" : ` with ${challenge}`}`;
  }
}

/** The ids of a route in a message: organization and app exist, the other ids do not. */
function messageOf({ route, binding }: Guarded, org = callers.here["org_uuid"]): Record<string, unknown> {
  const value = (name: string): string =>
    (name === "org_uuid" ? org : name === "app_id" ? callers.here["app_id"] : undefined) ??
    nothingFor(binding.rpc, route.path, name);
  return Object.fromEntries(
    parametersOf(route.path).map((name) => {
      const local = binding.rpc.input.fields.find((field) => field.name === name)?.localName ?? name;
      return [local, syntaxOf(binding.rpc, name) === "number" ? Number(value(name)) : value(name)];
    }),
  );
}

/**
 * Deleting an organization, rotating root signing keys, bulk revocation of sessions, issuing SVIDs, rotating KMS keys
 * (interface, Step-up), removing a member's factors (decisions 4.1), JWT-SVIDs of other identities (17.7).
 */
const PROTECTED = [
  "DELETE /api/organizations/{org_uuid}",
  "POST /api/admin/organizations/{org_uuid}/signing-keys/rotate",
  "DELETE /api/organizations/{org_uuid}/session-inventory",
  "POST /api/organizations/{org_uuid}/revoke-all-sessions",
  "POST /api/auth/spiffe/svid",
  "POST /api/auth/spiffe/jwt-svid",
  "POST /api/admin/organizations/{org_uuid}/kms-keys/rotate",
  "POST /api/admin/organizations/{org_uuid}/oidc-connections/{connection_uuid}/test",
  "DELETE /api/users/{user_uuid}/mfa-factors",
];
const guarded = guardedRoutes();
const named = (one: Guarded): string => `${one.route.method} ${one.route.path}`;
const operations = guarded.filter((one) => PROTECTED.includes(named(one)));

describe("Over gRPC and gRPC-Web", () => {
  // A sample: one route of every kind of guard.
  const sample = [
    ...new Map(
      guarded.map((one) => [
        `${one.route.auth} ${one.tenant} ${one.personOnly} ${one.scope === undefined} ${one.binding.rpc.methodKind}`,
        one,
      ]),
    ).values(),
  ];

  it.each(["gRPC", "gRPC-Web"])("every caller gets the documented status over %s", async (protocol) => {
    const roles = { ...callers.unauthenticated, ...callers.people, ...callers.keys };
    const tries = Object.entries(roles)
      .flatMap(([name, role]) => sample.map((one) => ({ name, role, one, expected: expectedOutcome(one, role) })))
      .filter(({ expected }) => expected !== "passes");
    expect(tries.length).toBeGreaterThan(200);
    const wrong = await forAll(tries, async ({ name, role, one, expected }) => {
      const transport = role.presented === undefined ? transports[protocol] : overMutualTls(protocol, role.presented);
      const seen = await binary(transport as Transport, one.binding.rpc, role.token, messageOf(one));
      return seen === expected ? [] : [`${name}, ${named(one)}: ${seen} instead of ${expected}`];
    });
    expect(wrong.flat()).toEqual([]);
  });
});

describe("Protected operations", () => {
  it("the protected operations are exactly those the specification names", () => {
    expect(
      guarded
        .filter(({ words }) => words.has("elevated"))
        .map(named)
        .sort(),
    ).toEqual([...PROTECTED].sort());
    expect(operations).toHaveLength(PROTECTED.length);
  });

  it.each(operations.map((one) => [named(one), one] as const))(
    "%s requires an elevated token over every protocol",
    async (_name, one) => {
      const owner = callers.people["owner"]?.token;
      const path = one.route.path.replaceAll(
        /\{(\w+)\}/gu,
        (_, name: string) => callers.here[name] ?? nothingFor(one.binding.rpc, one.route.path, name),
      );
      const rest = await sendRest(app.url, one.route.method, path, { token: owner });
      expect([outcomeOf(rest), rest.challenge]).toEqual([
        "403 step_up_required",
        expect.stringMatching(/^Bearer .*error="insufficient_user_authentication".*max_age=900/u),
      ]);
      for (const [protocol, transport] of Object.entries(transports)) {
        expect(await binary(transport, one.binding.rpc, owner, messageOf(one)), protocol).toBe("403 step_up_required");
        for (const nobody of [
          "expired elevated token",
          "elevated token of a session that ended",
          "elevated token of a deleted organization",
        ]) {
          expect(
            await binary(transport, one.binding.rpc, callers.unauthenticated[nobody]?.token, messageOf(one)),
            `${nobody} over ${protocol}`,
          ).toBe("401 unauthorized");
        }
      }
    },
  );

  it.each(operations.filter((one) => one.tenant).map((one) => [named(one), one] as const))(
    "%s succeeds with an elevated token, finds nothing by its id, or is not built",
    async (_name, one) => {
      for (const transport of Object.values(transports)) {
        const who = await founder(app);
        expect(
          await binary(transport, one.binding.rpc, await elevated(app, who.token), messageOf(one, who.org)),
        ).toMatch(/^(?:200|404 not_found|501 unimplemented)$/u);
      }
    },
  );
});
