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

/** One use of a refresh token whose session lives. */
interface Use {
  hash: Buffer;
  row: RefreshRow;
  standing: Standing;
  at: Date;
  info: RequestInfo;
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
    const at = dateOf(clock);
    const [row, standing] = await Promise.all([
      findRefresh(tx, hash, at),
      access.standingOf(tx, LIVE_SESSION, [hash, at]),
    ]);
    if (row === undefined || standing === undefined) return { refused: true, row };
    if (row.usedAt === null && row.expiresAt <= at) return { refused: true, row };
    const use = { hash, row, standing, at, info };
    return row.usedAt === null ? firstUse(tx, use) : laterUse(tx, use, row.usedAt);
  }

  async function firstUse(tx: Tx, use: Use): Promise<Issue> {
    const { hash, at } = use;
    const { token, hash: next } = newOpaqueToken(random);
    const successor = sealer.seal(token, sealContext(hash));
    const wanted = dateOf(clock, ttls.refreshIdleMs);
    rotateRefresh(tx, { hash, next, successor, at, wanted });
    return issue(tx, use, token, {});
  }

  /** Within its grace a used token gets the same successor again; after it, it ends its family. */
  async function laterUse(tx: Tx, use: Use, usedAt: Date): Promise<Issue | Refused> {
    const { hash, row, at, info } = use;
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
    return issue(tx, use, token, { repeated: true });
  }

  async function issue(
    tx: Tx,
    { row, standing, info }: Use,
    refreshToken: string,
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
