import { hash } from "node:crypto";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { verifyJwt } from "../../platform/crypto/jwt.ts";
import { errors } from "../../platform/errors.ts";
import { createLru } from "../../platform/lru.ts";
import type { Keys } from "../keys/index.ts";
import type { LastSeen } from "./last-seen.ts";
import type { Liveness } from "./liveness.ts";
import type { LiveRow } from "./liveness-store.ts";
import { accessTokenType } from "./tokens.ts";
import type { AccessClaims } from "./tokens.ts";

/** Verified tokens that are kept, about a kilobyte each. */
const kept = 20_000;

/** What checking access tokens is made of. */
export interface BearerDeps {
  clock: Clock;
  issuer: string;
  keys: { signing: Pick<Keys["signing"], "publicKey"> };
  liveness: Liveness;
  lastSeen: LastSeen;
  /** Which of these apps had their signing key rotated at or after `issuedAtMs`: claims on them are void. */
  voidedApps: (appIds: readonly string[], issuedAtMs: number) => Promise<ReadonlySet<string>>;
}

/** A token whose signature has been checked; what may change since is asked each time. */
interface Verified {
  claims: AccessClaims;
  kid: string;
  /** The caller as last assembled, and from what. */
  row?: LiveRow;
  caller?: Caller;
}

/** The check of access tokens: the signature once, whether it still holds on every request. */
export function createBearer({ clock, issuer, keys, liveness, lastSeen, voidedApps }: BearerDeps) {
  const verified = createLru<Verified>(kept);

  async function verify(token: string, name: string): Promise<Verified> {
    let kid = "";
    const expected = { typ: accessTokenType, issuer, now: clock.now() };
    const claims = await verifyJwt(token, (id, { org }) => {
      kid = id;
      return typeof org === "string" && uuidOrEmpty.test(org) ? keys.signing.publicKey(org === "" ? null : org, id) : undefined;
    }, expected);
    if (claims === undefined || typeof claims["sid"] !== "string") throw errors.unauthorized();
    const entry: Verified = { claims: claims as unknown as AccessClaims, kid };
    verified.set(name, entry);
    return entry;
  }

  /**
   * The caller behind an access token. Throws `unauthorized` for every token that is not right, with no
   * distinction, and `unavailable` when that cannot be found out.
   */
  return async function authenticate(token: string, _info: RequestInfo): Promise<Caller> {
    const name = hash("sha256", token, "base64");
    const entry = verified.get(name) ?? (await verify(token, name));
    const { claims } = entry;
    if (claims.exp * 1000 <= clock.now()) {
      verified.delete(name);
      throw errors.unauthorized();
    }
    const row = await liveness(claims.sid, entry.kid);
    if (row === undefined || !agrees(claims, row)) throw errors.unauthorized();
    lastSeen.note(claims.sid);
    const known = callerOf(entry, row);
    if (claims.app_admin.length === 0) return known;
    const voided = await voidedApps(claims.app_admin, claims.ims);
    return voided.size === 0 ? known : { ...known, appAdmin: known.appAdmin.filter((app) => !voided.has(app)) };
  };
}

const uuidOrEmpty = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/u;

/** The session is that person's in that organization, and the role has not changed since the token was made. */
function agrees(claims: AccessClaims, row: LiveRow): boolean {
  return row.user_uuid === claims.sub && (row.org_uuid ?? "") === claims.org && (row.membership_version ?? 0) === claims.mv;
}

/** Assembles the caller, or takes the one assembled before where nothing has changed. */
function callerOf(entry: Verified, row: LiveRow): Caller {
  const { claims, row: before, caller } = entry;
  const same =
    before !== undefined &&
    before.is_owner === row.is_owner &&
    before.email === row.email &&
    before.org_name === row.org_name &&
    before.is_superuser === row.is_superuser &&
    before.is_operator === row.is_operator;
  if (same && caller !== undefined) return caller;
  const isOwner = row.is_owner === true;
  const hasAdminRole = isOwner || claims.roles.includes("admin");
  const made: Caller = {
    principal: { type: "user", id: claims.sub },
    userUuid: claims.sub,
    email: row.email,
    orgUuid: row.org_uuid,
    orgName: row.org_name,
    sessionId: claims.sid,
    roles: claims.roles,
    isOwner,
    isAdmin: hasAdminRole || claims.platform_admin,
    isPlatformAdmin: claims.platform_admin,
    isSuperuser: row.is_superuser,
    isOperator: row.is_operator,
    canWriteVault: hasAdminRole,
    entitlements: claims.entitlements,
    appAdmin: claims.app_admin,
    sandbox: claims.sandbox,
    scopes: null,
    elevated: claims.acr === "elevated",
    claims: { ...claims },
    expiresAt: claims.exp,
  };
  entry.row = row;
  entry.caller = Object.freeze(made);
  return made;
}
