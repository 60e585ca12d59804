import { hash } from "node:crypto";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { verifyJwt } from "../../platform/crypto/jwt.ts";
import type { Judge } from "../../platform/db/types.ts";
import { createDoorkeeper } from "../../platform/doorkeeper.ts";
import { errors } from "../../platform/errors.ts";
import { createLru } from "../../platform/lru.ts";
import type { Keys } from "../signing-keys/index.ts";
import type { LastSeen } from "./last-seen.ts";
import type { Liveness } from "./liveness.ts";
import { judgeSession } from "./liveness-store.ts";
import type { LiveRow } from "./liveness-store.ts";
import { accessTokenType } from "./tokens.ts";
import type { AccessClaims } from "./tokens.ts";

/** Verified tokens that are kept, about a kilobyte each. */
const kept = 20_000;
/** Tokens of which is known that they were used before, at four bytes each. */
const USED_SLOTS = 2 ** 18;

/** What a token says of the apps its holder administers. */
export interface AppsOfToken {
  claimed: readonly string[];
  issuedAtMs: number;
  orgUuid: string | null;
  userUuid: string;
  isOwner: boolean;
}

/** What checking access tokens is made of. */
export interface BearerDeps {
  clock: Clock;
  issuer: string;
  keys: { signing: Pick<Keys["signing"], "publicKey"> };
  liveness: Liveness;
  lastSeen: LastSeen;
  /**
   * The apps a token opens at this moment: its claims that are not void, an owner's apps, what its holder made since.
   */
  administeredApps: (holder: AppsOfToken) => Promise<string[]>;
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
export function createBearer({ clock, issuer, keys, liveness, lastSeen, administeredApps }: BearerDeps) {
  const verified = createLru<Verified>(kept);
  // A token is kept from its second use on: those that come once neither push others out nor have to be collected.
  const used = createDoorkeeper(USED_SLOTS);

  async function verify(token: string): Promise<Verified> {
    let kid = "";
    const expected = { typ: accessTokenType, issuer, now: clock.now() };
    const claims = await verifyJwt(
      token,
      (id, { org }) => {
        kid = id;
        return typeof org === "string" && uuidOrEmpty.test(org)
          ? keys.signing.publicKey(org === "" ? null : org, id)
          : undefined;
      },
      expected,
    );
    if (claims === undefined || typeof claims["sid"] !== "string") throw errors.unauthorized();
    return { claims: claims as unknown as AccessClaims, kid };
  }

  async function verifyAndKeep(token: string, digest: Buffer, name: string): Promise<Verified> {
    const entry = await verify(token);
    if (used.admits(digest)) verified.set(name, entry);
    return entry;
  }

  /** A token that holds at this moment, and what it stands on. */
  async function live(token: string): Promise<{ entry: Verified; row: LiveRow }> {
    const digest = hash("sha256", token, "buffer");
    const name = digest.toString("latin1");
    const entry = verified.get(name) ?? (await verifyAndKeep(token, digest, name));
    const { claims } = entry;
    if (claims.exp * 1000 <= clock.now()) {
      verified.delete(name);
      throw errors.unauthorized();
    }
    const row = await liveness(claims.sid, entry.kid);
    if (row === undefined || !agrees(claims, row)) throw errors.unauthorized();
    return { entry, row };
  }

  /**
   * The caller behind an access token. Throws `unauthorized` for every token that is not right, with no
   * distinction, and `unavailable` when that cannot be found out.
   */
  async function authenticate(token: string, _info: RequestInfo): Promise<Caller> {
    const { entry, row } = await live(token);
    const { claims } = entry;
    lastSeen.note(claims.sid);
    const known = callerOf(entry, row, clock);
    const madeSince = row.newest_app !== null && row.newest_app >= claims.ims;
    if (claims.app_admin.length === 0 && !madeSince) return known;
    const { orgUuid, isOwner } = known;
    const holder = { claimed: claims.app_admin, issuedAtMs: claims.ims, orgUuid, userUuid: claims.sub, isOwner };
    return { ...known, appAdmin: await administeredApps(holder) };
  }

  return {
    authenticate,
    /** Whether a token that was accepted before still holds. Throws as `authenticate` does. */
    async holds(token: string): Promise<void> {
      const { entry } = await live(token);
      lastSeen.note(entry.claims.sid);
    },
  };
}

const uuidOrEmpty = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/u;

/** The session is that person's in that organization, and the role has not changed since the token was made. */
function agrees(claims: AccessClaims, row: LiveRow): boolean {
  return (
    row.user_uuid === claims.sub && (row.org_uuid ?? "") === claims.org && (row.membership_version ?? 0) === claims.mv
  );
}

/** Assembles the caller, or takes the one assembled before where nothing has changed. */
function callerOf(entry: Verified, row: LiveRow, clock: Clock): Caller {
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
    judge: judgeOf(claims, entry.kid, row, clock),
  };
  entry.row = row;
  entry.caller = Object.freeze(made);
  return made;
}

/** Whether the session, the membership as it was, the key and the flags still hold. */
function judgeOf({ sid, mv, platform_admin }: AccessClaims, kid: string, row: LiveRow, clock: Clock): Judge {
  const { user_uuid, org_uuid, is_superuser, is_operator } = row;
  return (tx, how) =>
    judgeSession(tx, [
      sid,
      kid,
      user_uuid,
      org_uuid,
      mv,
      platform_admin,
      is_superuser,
      is_operator,
      dateOf(clock),
      how === "change",
    ]);
}
