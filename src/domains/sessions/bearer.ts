import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { verifyJwt } from "../../platform/crypto/jwt.ts";
import type { Reauthorize } from "../../platform/db/types.ts";
import { createSeenFilter } from "../../platform/seen-filter.ts";
import { errors } from "../../platform/errors.ts";
import { createLru } from "../../platform/lru.ts";
import type { Keys } from "../signing-keys/index.ts";
import type { LastSeen } from "./last-seen.ts";
import { credential } from "../liveness/index.ts";
import type { Credential, Liveness, SessionRow } from "../liveness/index.ts";
import { REAUTHORIZE_SESSIONS, reauthorizeSession } from "./store.ts";
import type { SessionCheck } from "./store.ts";
import { ACCESS_TOKEN_TYPE } from "./tokens.ts";
import type { AccessClaims } from "./tokens.ts";

/** Number of verified tokens in the cache, about two kilobytes each. */
const MAX_CACHED_TOKENS = 20_000;
/** Number of tokens of which the cache knows that they were used before, four bytes each. */
const USED_SLOTS = 2 ** 18;
/** Length of the signature's end that finds a token in the cache: 256 bits. */
const TAIL_LENGTH = 43;

/** The claims of a token that determine which apps its holder administers. */
export interface AppsOfToken {
  claimed: readonly string[];
  /** The token does not contain all of the apps its holder had been granted when it was issued. */
  isTruncated: boolean;
  issuedAtMs: number;
  orgUuid: string | null;
  userUuid: string;
  isOwner: boolean;
}

/** Dependencies of {@link createBearer}. */
export interface BearerDeps {
  clock: Clock;
  issuer: string;
  keys: { signing: Pick<Keys["signing"], "publicKey"> };
  liveness: Liveness;
  lastSeen: LastSeen;
  /**
   * Returns the apps that a token gives access to now: its claims without those that are void, the apps of an owner,
   * and the apps that its holder created since.
   */
  administeredApps: (holder: AppsOfToken) => Promise<string[]>;
}

/** A token with a valid signature. What may change afterwards is read on every request. */
interface VerifiedToken {
  token: string;
  claims: AccessClaims;
  session: Credential<"session">;
  /** When its next use needs to be recorded, epoch milliseconds. */
  noteAtMs: number;
  /** Whether the token was used before: its entry is cached, and its caller kept for further requests. */
  isReused: boolean;
  /** The caller of the last request, and the row it was made from. */
  row?: SessionRow;
  caller?: Caller;
}

/** Creates the check of access tokens: the signature is verified once, the session on every request. */
export function createBearer({ clock, issuer, keys, liveness, lastSeen, administeredApps }: BearerDeps) {
  // Found by the end of the signature and then compared as a whole: a hash over all of the token costs more than the
  // rest of the check.
  const cache = createLru<VerifiedToken>(MAX_CACHED_TOKENS);
  // A token is cached from its second use on: tokens used once neither evict others nor have to be collected.
  const used = createSeenFilter(USED_SLOTS);

  async function verify(token: string): Promise<VerifiedToken> {
    let kid = "";
    const expected = { typ: ACCESS_TOKEN_TYPE, issuer, now: clock.now() };
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
    const isReused = used.seenBefore(Buffer.from(token.slice(-24, -8), "base64url"));
    const entry = {
      token,
      claims: claims as unknown as AccessClaims,
      session: credential("session", claims["sid"], kid),
      noteAtMs: 0,
      isReused,
    };
    if (isReused) cache.set(token.slice(-TAIL_LENGTH), entry);
    return entry;
  }

  function cached(token: string): VerifiedToken | undefined {
    const entry = cache.get(token.slice(-TAIL_LENGTH));
    return entry?.token === token ? entry : undefined;
  }

  /** @throws {unauthorized} when the token has expired */
  function askForRow({ token, claims, session }: VerifiedToken): Promise<SessionRow | undefined> {
    if (claims.exp * 1000 > clock.now()) return liveness(session);
    cache.delete(token.slice(-TAIL_LENGTH));
    throw errors.unauthorized();
  }

  /** @throws {unauthorized} when the session has ended or differs from what the token says */
  function accept(entry: VerifiedToken, row: SessionRow | undefined): SessionRow {
    if (row === undefined || (row !== entry.row && !agrees(entry.claims, row))) throw errors.unauthorized();
    if (clock.now() >= entry.noteAtMs) entry.noteAtMs = lastSeen.note(entry.claims.sid);
    return row;
  }

  function callerNow(entry: VerifiedToken, row: SessionRow): Caller | Promise<Caller> {
    const { claims } = entry;
    const known = callerOf(entry, row, clock);
    const madeSince = row.newest_app !== null && row.newest_app >= claims.ims;
    if (claims.app_admin.length === 0 && !madeSince) return known;
    const { orgUuid, isOwner } = known;
    const { sub: userUuid, app_admin: claimed, ims: issuedAtMs } = claims;
    const isTruncated = claims.truncated?.includes("app_admin") === true;
    return administeredApps({ claimed, isTruncated, issuedAtMs, orgUuid, userUuid, isOwner }).then((appAdmin) => ({
      ...known,
      appAdmin,
    }));
  }

  async function present(token: string): Promise<Caller> {
    const entry = cached(token) ?? (await verify(token));
    return callerNow(entry, accept(entry, await askForRow(entry)));
  }

  return {
    /**
     * Returns the caller of an access token.
     * @throws {unauthorized} when the token is not valid, whatever the reason
     * @throws {unavailable} when that cannot be determined
     */
    authenticate: (token: string, _info: RequestInfo): Promise<Caller> => present(token),

    /**
     * Returns the present caller of a token that was accepted before.
     * @throws {unauthorized} when the token is no longer valid
     * @throws {unavailable} when that cannot be determined
     */
    recheck: present,
  };
}

const uuidOrEmpty = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/u;

/** Whether the session belongs to the token's person and organization, and the role is the one in the token. */
function agrees(claims: AccessClaims, row: SessionRow): boolean {
  return (
    row.user_uuid === claims.sub && (row.org_uuid ?? "") === claims.org && (row.membership_version ?? 0) === claims.mv
  );
}

/**
 * Returns the caller of the last request where nothing has changed since, else a new one. A caller that further
 * requests may get is frozen.
 */
function callerOf(entry: VerifiedToken, row: SessionRow, clock: Clock): Caller {
  const { claims, row: before, caller } = entry;
  if (caller !== undefined && before !== undefined && isSame(before, row)) {
    entry.row = row;
    return caller;
  }
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
    reauthorize: reauthorizationOf(claims, entry.session.detail, row, clock),
  };
  if (!entry.isReused) return made;
  entry.row = row;
  entry.caller = Object.freeze(made);
  return made;
}

function isSame(before: SessionRow, row: SessionRow): boolean {
  return (
    before === row ||
    (before.is_owner === row.is_owner &&
      before.email === row.email &&
      before.org_name === row.org_name &&
      before.is_superuser === row.is_superuser &&
      before.is_operator === row.is_operator)
  );
}

/** Checks, in a transaction, that the session, the membership, the key and the flags are as they were. */
function reauthorizationOf(
  { sid, mv, platform_admin }: AccessClaims,
  kid: string,
  row: SessionRow,
  clock: Clock,
): Reauthorize {
  const { user_uuid, org_uuid, is_superuser, is_operator } = row;
  const checkOf = (how: "keep" | "change"): SessionCheck => [
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
  ];
  const alone: Reauthorize = (tx, how) => reauthorizeSession(tx, checkOf(how));
  return Object.assign(alone, { joint: { sql: REAUTHORIZE_SESSIONS, row: checkOf } });
}
