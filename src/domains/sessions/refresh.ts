import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Access } from "../access/index.ts";
import type { Audit } from "../auth-events/index.ts";
import type { AnnounceSessions } from "./announcing.ts";
import type { OpenDeps, OpenedPair } from "./open.ts";
import { tellFollowers } from "./followers.ts";
import { findRefresh, prolongSession, rotateRefresh } from "./refresh-store.ts";
import type { RefreshRow } from "./refresh-store.ts";
import { revokeSession } from "./store.ts";

/** What refreshing is made of. */
export interface RefreshDeps extends OpenDeps {
  database: Database;
  /** Seals successors with the instance key, for clients that lost the answer. */
  sealer: Sealer;
  access: Pick<Access, "standing">;
  audit: Pick<Audit, "record" | "recordFailure">;
  announce: AnnounceSessions;
}

/** A refused refresh: nothing was issued, what the transaction wrote stays. */
interface Refused {
  refused: true;
  row: RefreshRow | undefined;
}

/** Refresh rotation with grace and reuse detection (decisions 3.4). */
export function createRefresh(deps: RefreshDeps) {
  const { database, clock, random, tokens, ttls, sealer, access, audit, announce } = deps;

  /** One refresh in one transaction. Locks in the order person, refresh token, session. */
  async function attempt(tx: Tx, hash: Buffer, info: RequestInfo): Promise<OpenedPair | Refused> {
    const now = dateOf(clock);
    const row = await findRefresh(tx, hash, now);
    const standing = row?.live === true ? await access.standing(tx, row.user_uuid, row.org_uuid) : undefined;
    if (row === undefined || standing === undefined) return { refused: true, row };
    const successor = newOpaqueToken(random);
    const wanted = dateOf(clock, ttls.refreshIdleMs);
    const rotation = {
      hash,
      next: successor.hash,
      successor: sealer.seal(successor.token, context(hash)),
      at: now,
      wanted,
    };
    const turn = row.used_at === null ? await rotateRefresh(tx, rotation) : "spent";
    if (turn === "dead") return { refused: true, row };
    const first = turn === "rotated";
    const used = first ? row : await findRefresh(tx, hash, now);
    if (used === undefined || (!first && used.used_at === null)) return { refused: true, row };
    if (!first && used.used_at !== null && now.getTime() - used.used_at.getTime() > ttls.refreshGraceMs) {
      await endFamily(tx, row, info);
      return { refused: true, row };
    }
    if (!first && (await prolongSession(tx, row.session_uuid, now, wanted)) === undefined)
      return { refused: true, row };
    const refreshToken =
      first || used.successor === null ? successor.token : sealer.open(used.successor, context(hash)).toString("utf8");
    const [minted] = await Promise.all([
      tokens.mint(tx, {
        standing,
        sessionId: row.session_uuid,
        amr: row.amr,
        authTime: row.auth_time,
        ttlMs: ttls.pairMs,
      }),
      audit.record(tx, {
        ...eventOf(row, info),
        outcome: "success",
        metadata: { session_id: row.session_uuid, ...(first ? {} : { repeated: true }) },
      }),
    ]);
    return {
      sessionId: row.session_uuid,
      deviceUuid: row.device_uuid,
      accessToken: minted.accessToken,
      refreshToken,
      tokenType: "Bearer",
      expiresIn: minted.expiresIn,
    };
  }

  async function endFamily(tx: Tx, row: RefreshRow, info: RequestInfo): Promise<void> {
    if (!(await revokeSession(tx, row.session_uuid, "refresh_reuse", dateOf(clock)))) return;
    const metadata = { session_id: row.session_uuid, reason: "refresh_reuse" };
    await audit.record(tx, { ...eventOf(row, info), type: "session.revoked", outcome: "success", metadata });
    if (row.org_uuid !== null)
      await announce(tx, {
        type: "session.revoked",
        orgUuid: row.org_uuid,
        data: { ...metadata, user_uuid: row.user_uuid },
      });
    await tellFollowers({ clock, audit, announce }, tx, [row.session_uuid], { info });
  }

  return {
    /**
     * The next pair of a session. Throws `unauthorized` for any token that is not the family's present one or within
     * its grace.
     */
    async refresh(token: string, info: RequestInfo): Promise<OpenedPair> {
      const hash = hashToken(token);
      const outcome = await database.transaction((tx) => attempt(tx, hash, info), info);
      if (!("refused" in outcome)) return outcome;
      await audit.recordFailure({ ...eventOf(outcome.row, info), metadata: { code: "unauthorized" } });
      throw errors.unauthorized({
        message: "The refresh token is unknown, expired or was used before; sign in again.",
      });
    },
  };
}

function eventOf(row: RefreshRow | undefined, info: RequestInfo) {
  return { type: "token.refreshed" as const, userUuid: row?.user_uuid ?? null, orgUuid: row?.org_uuid ?? null, info };
}

function context(parentHash: Buffer): string {
  return `refresh-successor:${parentHash.toString("hex")}`;
}
