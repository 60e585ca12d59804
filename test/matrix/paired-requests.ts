import { callRest } from "../support/app.ts";
import { invite, newcomer, password, tokenTo } from "../support/people.ts";
import type { Random } from "../support/random-of.ts";
import { admin, call, identities, some, sql } from "./late-writes-stage.ts";
import type { Stage, Write } from "./late-writes-stage.ts";
import { pathOf, writes, writingRoutes } from "./late-writes.ts";
import { directoryWrites } from "./paired-directory.ts";
import { publishApp, signIn } from "./world.ts";

/** A request that a pair is made of. */
export interface PairedRequest {
  name: string;
  method: string;
  path(stage: Stage, write: Write): string;
  /** Runs before anything is made for a pair. */
  prepare?(stage: Stage): Promise<void>;
  /** Makes what it needs. `stage.side.ids` has the objects of the other request of the pair. */
  make(stage: Stage, random: Random): Promise<Write> | Write;
  /** Default: the token of the writer. */
  token?(stage: Stage): Promise<string | undefined> | string | undefined;
  contentType?: string;
}

type Make = PairedRequest["make"];

/** Routes that elsewhere use an object of the stage, of which a second pair would find nothing: each with its own. */
const repeatable: Readonly<Record<string, Make>> = {
  "POST /api/admin/organizations/{org_uuid}/scim-tokens": async (stage) => {
    await sql(stage, "delete from scim_tokens where org_uuid = $1 and name = 'late'", stage.side.owner.org);
    return { body: { name: "late" } };
  },
  "DELETE /api/admin/organizations/{org_uuid}/scim-tokens/{token_id}": async (stage) => {
    await sql(stage, "delete from scim_tokens where org_uuid = $1 and name = 'pair'", stage.side.owner.org);
    const { token_id = "" } = await call(stage, "POST", `${admin(stage)}/scim-tokens`, { name: "pair" });
    return { ids: { token_id } };
  },
  "DELETE /api/organizations/{org_uuid}/service-identities/automation-tokens/{token_id}": async (stage) => {
    const wish = { name: some(), identity_id: stage.side.ids["identity_id"] };
    const { token_id = "" } = await call(stage, "POST", `${identities(stage)}/automation-token`, wish);
    return { ids: { automation_token: token_id } };
  },
  "DELETE /api/auth/spiffe/svids/{svid_id}": async (stage) => {
    const wish = { service_identity_id: stage.side.ids["identity_id"] };
    const { svid_id = "" } = await call(stage, "POST", "/api/auth/spiffe/svid", wish, stage.actor.token);
    return { ids: { svid_id } };
  },
  "DELETE /api/admin/organizations/{org_uuid}/invitations/{invitation_id}": async (stage) => {
    const { id, token } = await invite(stage.app, { org: stage.side.owner.org, token: stage.side.token }, address());
    return { ids: { invitation_id: id, invitation_token: token } };
  },
  "POST /api/marketplace/{slug}/install": async (stage) => ({ ids: await publishedApp(stage), body: {} }),
  "DELETE /api/installs/{install_id}": async (stage) => {
    const ids = await publishedApp(stage);
    const { install_id = "" } = await call(stage, "POST", `/api/marketplace/${ids.slug}/install`, {});
    return { ids: { ...ids, install_id } };
  },
  "DELETE /api/marketplace/apps/{app_id}/admins/{user_uuid}": async (stage) => {
    const { app_id, user_uuid } = stage.side.ids;
    const body = { user_uuid };
    await stage.app.call("POST", `/api/marketplace/apps/${app_id}/admins`, { token: stage.side.token, body });
    return {};
  },
  "PUT /api/roles/{role_id}/permissions": (_, random) => ({
    body: { permissions: [1, 2, 3].filter(() => random.chance(0.5)) },
  }),
  "PUT /api/users/{user_uuid}/role": (_, random) => ({ body: { role: random.pick(["observer", "manager"]) } }),
  "PUT /api/admin/organizations/{org_uuid}/secrets/{name}": async (stage) => ({
    ids: { secret: await storedSecret(stage) },
    body: { value: some() },
  }),
};

/** Signing keys are limited: those that no token of the stage is signed with make room for the next. */
const signingKeyRoutes: ReadonlySet<string> = new Set([
  "POST /api/admin/organizations/{org_uuid}/signing-keys",
  "POST /api/admin/organizations/{org_uuid}/signing-keys/rotate",
  "DELETE /api/admin/organizations/{org_uuid}/signing-keys/{key_id}",
]);

const address = (): string => `pair${some()}@people.test`;

async function publishedApp(stage: Stage): Promise<{ app_id: string; slug: string }> {
  const { appId, slug } = await publishApp(stage.app, stage.side.token, await stage.app.login());
  return { app_id: appId, slug };
}

async function storedSecret(stage: Stage): Promise<string> {
  const name = some();
  await call(stage, "PUT", `${admin(stage)}/secrets/${name}`, { value: "x" });
  return name;
}

const keyIdOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid as string;

async function removeSpareSigningKeys(stage: Stage): Promise<void> {
  const used = [stage.side.token, stage.side.elevated, stage.actor.token].map(keyIdOf);
  const spare = "delete from signing_keys where org_uuid = $1 and not active and kid <> all ($2)";
  await sql(stage, spare, stage.side.owner.org, used);
}

function makeOf(name: string): Make {
  const make = repeatable[name] ?? writes[name];
  if (make === undefined) throw new Error(`no request for ${name} in test/matrix/late-writes.ts`);
  return make;
}

const fromOwner = (stage: Stage): string => stage.side.token;
const fromElevatedOwner = (stage: Stage): string => stage.side.elevated;
const anonymous = (): undefined => undefined;
const writer = (stage: Stage): string => `/api/users/${stage.actor.userUuid}`;
const otherOwner = (stage: Stage): string => `/api/users/${stage.side.owner.userUuid}`;
const at = (path: string) => (): string => path;

/** What ends the power of the writer, or of the other owner. */
const memberChanges: readonly PairedRequest[] = [
  {
    name: "demotion of the writer",
    method: "PUT",
    path: (stage) => `${writer(stage)}/role`,
    make: () => ({ body: { role: "observer" } }),
    token: fromOwner,
  },
  {
    name: "deactivation of the writer",
    method: "PATCH",
    path: writer,
    make: () => ({ body: { status: "inactive" } }),
    token: fromElevatedOwner,
  },
  { name: "removal of the writer", method: "DELETE", path: writer, make: () => ({}), token: fromOwner },
  { name: "removal of the other owner", method: "DELETE", path: otherOwner, make: () => ({}) },
  {
    name: "end of the writer's ownership",
    method: "PATCH",
    path: writer,
    make: () => ({ body: { is_owner: false } }),
    token: fromElevatedOwner,
  },
  {
    name: "end of the other owner's ownership",
    method: "PATCH",
    path: otherOwner,
    make: () => ({ body: { is_owner: false } }),
  },
];

/** A mailed token, read where the mail is stored. */
async function mailedToken(stage: Stage, path: string): Promise<string> {
  await stage.app.call("POST", path, { body: { email: stage.actor.email } });
  return tokenTo(stage.app, stage.actor.email);
}

/** Public routes by which the writer, or somebody new, signs in. */
const doors: readonly Pick<PairedRequest, "name" | "path" | "make">[] = [
  {
    name: "password login",
    path: at("/api/auth/login"),
    make: ({ actor, side }) => ({ body: { email: actor.email, password, org_name: side.owner.orgName } }),
  },
  {
    name: "refresh",
    path: at("/api/auth/refresh"),
    make: async (stage) => ({
      body: { refresh_token: (await signIn(stage.app, stage.actor, stage.device)).refresh },
    }),
  },
  {
    name: "acceptance of an invitation",
    path: at("/api/auth/invite/accept"),
    make: async (stage) => {
      const host = { org: stage.side.owner.org, token: stage.side.token };
      const token = stage.side.ids["invitation_token"] ?? (await invite(stage.app, host, address())).token;
      return { ids: { invitation_token: token }, body: { token, ...newcomer(`u${some()}`) } };
    },
  },
  {
    name: "reset of the password",
    path: at("/api/auth/password/reset"),
    make: async (stage) => ({ body: { token: await mailedToken(stage, "/api/auth/password/forgot"), password } }),
  },
  { name: "mail of a code", path: at("/api/auth/otp"), make: ({ actor }) => ({ body: { email: actor.email } }) },
  {
    name: "magic link",
    path: at("/api/auth/magic-link/verify"),
    make: async (stage) => ({ body: { token: await mailedToken(stage, "/api/auth/magic-link/send") } }),
  },
];

/** Every request that pairs are made of: each writing route, SCIM's writes, changes of members, and sign-ins. */
export const pairedRequests = (): PairedRequest[] => [
  ...writingRoutes().map(({ name, binding }) => ({
    name,
    method: binding.method,
    path: (stage: Stage, write: Write) => pathOf(binding, stage, write),
    make: makeOf(name),
    ...(signingKeyRoutes.has(name) && { prepare: removeSpareSigningKeys }),
  })),
  ...memberChanges,
  ...doors.map((door) => ({ ...door, method: "POST", token: anonymous })),
  ...directoryWrites,
];

/** Sends a request to one instance. */
export async function sendTo(url: string, request: PairedRequest, stage: Stage, write: Write, headers = {}) {
  const { method, contentType } = request;
  const token = request.token === undefined ? stage.actor.token : await request.token(stage);
  const body = write.body === undefined ? {} : { body: write.body };
  const all = { ...(contentType !== undefined && { "content-type": contentType }), ...write.headers, ...headers };
  return callRest(url, method, request.path(stage, write), { token, headers: all, ...body });
}
