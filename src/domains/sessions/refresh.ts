import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { RequestContext } from "../../platform/context.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Access, Standing } from "../access/index.ts";
import { EVENTS, withoutActor } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { recordDerivedEnded } from "./ended.ts";
import type { OpenDeps, OpenedPair } from "./open.ts";
import { findRefresh, LIVE_SESSION, prolongSession, rotateRefresh } from "./refresh-store.ts";
import type { RefreshRow } from "./refresh-store.ts";
import { revokeSession } from "./store.ts";

/** Dependencies of {@link createRefresh}. */
export interface RefreshDeps extends OpenDeps {
  /** Seals successors with the instance key, for clients that lost the response. */
  sealer: Sealer;
  access: Pick<Access, "standingOf">;
  events: Pick<Events, "emit" | "notify" | "recordFailure">;
}

/** Signs the tokens, after the transaction. */
type Issue = () => Promise<OpenedPair>;

/** A refused refresh: nothing was issued, what the transaction wrote stays. */
interface Refused {
  refused: true;
  row: RefreshRow | undefined;
}

/**
 * Creates the rotation of refresh tokens with grace and reuse detection (decisions 3.4). A first use takes two round
 * trips: `begin` and the reads; what is written and what the new token states, and `commit`. Signed after it.
 */
export function createRefresh(deps: RefreshDeps) {
  const { clock, random, tokens, ttls, sealer, access, events } = deps;

  /** One refresh in one transaction. Locks in the order person, refresh token, session. */
  async function attempt(tx: Tx, hash: Buffer, info: RequestInfo): Promise<Issue | Refused> {
    const now = dateOf(clock);
    const [row, standing] = await Promise.all([
      findRefresh(tx, hash, now),
      access.standingOf(tx, LIVE_SESSION, [hash, now]),
    ]);
    if (row === undefined || standing === undefined) return { refused: true, row };
    if (row.usedAt === null && row.expiresAt <= now) return { refused: true, row };
    return row.usedAt === null
      ? firstUse(tx, hash, row, standing, now, info)
      : laterUse(tx, hash, row, row.usedAt, standing, now, info);
  }

  async function firstUse(
    tx: Tx,
    hash: Buffer,
    row: RefreshRow,
    standing: Standing,
    at: Date,
    info: RequestInfo,
  ): Promise<Issue> {
    const { token, hash: next } = newOpaqueToken(random);
    const successor = sealer.seal(token, sealContext(hash));
    const wanted = dateOf(clock, ttls.refreshIdleMs);
    rotateRefresh(tx, { hash, next, successor, at, wanted });
    return issue(tx, row, standing, token, info, {});
  }

  /** Within its grace a used token gets the same successor again; after it, it ends its family. */
  async function laterUse(
    tx: Tx,
    hash: Buffer,
    row: RefreshRow,
    usedAt: Date,
    standing: Standing,
    at: Date,
    info: RequestInfo,
  ): Promise<Issue | Refused> {
    if (at.getTime() - usedAt.getTime() > ttls.refreshGraceMs) {
      await endFamily(tx, row, info);
      return { refused: true, row };
    }
    const wanted = dateOf(clock, ttls.refreshIdleMs);
    if ((await prolongSession(tx, row.sessionUuid, at, wanted)) === undefined) return { refused: true, row };
    const token =
      row.successor === null
        ? newOpaqueToken(random).token
        : sealer.open(row.successor, sealContext(hash)).toString("utf8");
    return issue(tx, row, standing, token, info, { repeated: true });
  }

  async function issue(
    tx: Tx,
    row: RefreshRow,
    standing: Standing,
    refreshToken: string,
    info: RequestInfo,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<Issue> {
    const sign = tokens.mintLater(tx, {
      standing,
      sessionId: row.sessionUuid,
      amr: row.amr,
      authTime: row.authTime,
      ttlMs: ttls.pairMs,
    });
    await events.emit(tx, EVENTS["token.refreshed"], {
      ...eventOf(row, info),
      metadata: { session_id: row.sessionUuid, ...metadata },
    });
    return async () => {
      const { accessToken, expiresIn } = await sign();
      const { sessionUuid: sessionId, deviceUuid } = row;
      return { sessionId, deviceUuid, accessToken, refreshToken, tokenType: "Bearer", expiresIn };
    };
  }

  async function endFamily(tx: Tx, row: RefreshRow, info: RequestInfo): Promise<void> {
    if (!(await revokeSession(tx, row.sessionUuid, "refresh_reuse", dateOf(clock)))) return;
    const metadata = { session_id: row.sessionUuid, reason: "refresh_reuse" };
    const event = eventOf(row, info);
    const data = { ...metadata, user_uuid: row.userUuid };
    await events.emit(tx, EVENTS["session.revoked"], { ...event, metadata, data });
    await recordDerivedEnded(deps, tx, [row.sessionUuid], event.by);
  }

  return {
    /**
     * Returns the next pair of a session.
     * @throws {unauthorized} when the token is neither the latest of its family nor within its grace
     */
    async refresh(context: RequestContext, token: string): Promise<OpenedPair> {
      const { info } = context;
      const hash = hashToken(token);
      const outcome = await context.transaction((tx) => attempt(tx, hash, info));
      if (!("refused" in outcome)) return outcome();
      const metadata = { code: "unauthorized" };
      await events.recordFailure(EVENTS["token.refreshed"], { ...eventOf(outcome.row, info), metadata });
      throw errors.unauthorized({
        message: "The refresh token is unknown, expired or was used before; sign in again.",
      });
    },
  };
}

function eventOf(row: RefreshRow | undefined, info: RequestInfo) {
  return { by: withoutActor(row?.userUuid ?? null, info), orgUuid: row?.orgUuid ?? null };
}

/** The context that the successor of a token is sealed with. */
export function sealContext(parentHash: Buffer): string {
  return `refresh-successor:${parentHash.toString("hex")}`;
}
