import type { Somebody } from "../support/people.ts";
import type { TestApp } from "../support/app.ts";
import { some } from "./late-writes-stage.ts";
import { done } from "./world.ts";

/** What two requests of one caller work on: an object is made at its first use, and both have the same one. */
export interface Common {
  app: TestApp;
  actor: Somebody;
  common<T>(kind: string, make: () => Promise<T>): Promise<T>;
  /** A call of the actor that has to succeed. */
  call(method: string, path: string, body?: unknown): Promise<Record<string, string>>;
}

export type Request = [method: string, path: string, body?: unknown];
type Write = (on: Common) => Promise<Request> | Request;

/** Writes of service identities and their credentials. */
const workload = /identity|a token|SVID/u;

const admin = ({ actor }: Common): string => `/api/admin/organizations/${actor.org}`;
const identities = ({ actor }: Common): string => `/api/organizations/${actor.org}/service-identities`;
const made = (on: Common, kind: string, id: string, path: string, body: unknown): Promise<string> =>
  on.common(kind, async () => (await on.call("POST", path, body))[id] ?? "");

const name = (on: Common) => on.common("name", () => Promise.resolve(some()));
const identity = (on: Common) => made(on, "identity", "identity_id", identities(on), { name: some(), role_id: 3 });
const token = async (on: Common) =>
  made(on, "token", "token_id", `${identities(on)}/automation-token`, { name: "t", identity_id: await identity(on) });
const svid = async (on: Common) =>
  made(on, "svid", "svid_id", "/api/auth/spiffe/svid", { service_identity_id: await identity(on) });
const key = (on: Common) => made(on, "key", "key_id", `${admin(on)}/api-keys`, { name: "k", scopes: ["read:users"] });
const scimToken = (on: Common) => made(on, "scim token", "token_id", `${admin(on)}/scim-tokens`, { name: "s" });
const signingKey = (on: Common) =>
  on.common("signing key", async () => {
    const path = `${admin(on)}/signing-keys`;
    const { key_id } = await on.call("POST", path, { algorithm: "ed25519" });
    await on.call("POST", path, { algorithm: "ed25519" });
    return `${path}/${key_id}`;
  });

/** Writes that lock their caller before what they change, with the names of the writes that reach the same rows. */
export const ends: Readonly<Record<string, readonly [Write, RegExp]>> = {
  "revoke a key": [async (on) => ["DELETE", `${admin(on)}/api-keys/${await key(on)}`], /a key/u],
  "revoke a SCIM token": [async (on) => ["DELETE", `${admin(on)}/scim-tokens/${await scimToken(on)}`], /SCIM/u],
  "delete a signing key": [async (on) => ["DELETE", await signingKey(on)], /signing/u],
  "delete an identity": [async (on) => ["DELETE", `${identities(on)}/${await identity(on)}`], workload],
  "rename an identity": [
    async (on) => ["PATCH", `${identities(on)}/${await identity(on)}`, { name: await name(on) }],
    workload,
  ],
  "revoke a token": [async (on) => ["DELETE", `${identities(on)}/automation-tokens/${await token(on)}`], workload],
  "revoke an SVID": [async (on) => ["DELETE", `/api/auth/spiffe/svids/${await svid(on)}`], workload],
};

/** Writes of which each is raced against each of `ends`. */
export const writes: Readonly<Record<string, Write>> = {
  ...Object.fromEntries(Object.entries(ends).map(([what, [write]]) => [what, write])),
  "create a key": (on) => ["POST", `${admin(on)}/api-keys`, { name: "k", scopes: ["read:users"] }],
  "create a SCIM token": (on) => ["POST", `${admin(on)}/scim-tokens`, { name: "s" }],
  "create a signing key": (on) => ["POST", `${admin(on)}/signing-keys`, { algorithm: "ed25519" }],
  "create an identity": async (on) => ["POST", identities(on), { name: await name(on), role_id: 3 }],
  "create a token": async (on) => {
    return ["POST", `${identities(on)}/automation-token`, { name: "late", identity_id: await identity(on) }];
  },
  "issue an SVID": async (on) => ["POST", "/api/auth/spiffe/svid", { service_identity_id: await identity(on) }],
};

/** The calls of an actor, as an object of {@link Common}. */
export function commonOf(app: TestApp, actor: Somebody): Common {
  const objects = new Map<string, Promise<unknown>>();
  return {
    app,
    actor,
    common<T>(kind: string, make: () => Promise<T>): Promise<T> {
      if (!objects.has(kind)) objects.set(kind, make());
      return objects.get(kind) as Promise<T>;
    },
    call: async (method, path, body) => done(await app.call(method, path, { token: actor.token, body })),
  };
}
