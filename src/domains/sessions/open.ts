import type { RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { emailKeyOf } from "../../platform/email.ts";
import { endStreak, SIGN_IN_FAILURES } from "../../platform/limits/index.ts";
import type { Random } from "../../platform/random.ts";
import type { Standing } from "../access/index.ts";
import { sessionErrors } from "./errors.ts";
import { insertRefresh } from "./refresh-store.ts";
import { insertSession, markUsed } from "./store.ts";
import type { SourceSession } from "./store.ts";
import type { Tokens } from "./tokens.ts";

/** Lifetimes in milliseconds. */
export interface SessionTtls {
  /** Access token of a pair. */
  pairMs: number;
  /** Refresh tokens of a session, however often it is refreshed. */
  refreshMs: number;
  /** A refresh token that is not used. */
  refreshIdleMs: number;
  /** Grace period in which a used refresh token still returns its successor. */
  refreshGraceMs: number;
}

/** Dependencies of the opening of sessions. */
export interface OpenDeps {
  clock: Clock;
  random: Pick<Random, "uuid" | "bytes">;
  tokens: Tokens;
  ttls: SessionTtls;
}

/** A session to open for a person who has proven who they are. */
export interface OpenRequest {
  /** Read in the same transaction. */
  standing: Standing;
  /** How they proved it (RFC 8176). */
  amr: readonly string[];
  /** When they proved it; default now. */
  authTime?: Date | undefined;
  info: RequestInfo;
  /** The second factor was among it. */
  secondFactor?: boolean;
  /** Lifetime of the access token, milliseconds; default that of a pair. */
  accessTtlMs?: number | undefined;
  /** The absolute end of the session whose token opens this one; a sign-in has one of its own. */
  notAfter?: Date | undefined;
  /** The session this one is derived from: it inherits the absolute end and ends with it. */
  source?: SourceSession | undefined;
}

/** The access token of a session. */
export interface OpenedSession {
  sessionId: string;
  deviceUuid: string;
  accessToken: string;
  tokenType: "Bearer";
  /** Seconds. */
  expiresIn: number;
}

/** An opened session that can be refreshed. */
export interface OpenedPair extends OpenedSession {
  refreshToken: string;
}

/** Opening of sessions, the same for every kind of sign-in. */
export function createOpen({ clock, random, tokens, ttls }: OpenDeps) {
  async function open(tx: Tx, request: OpenRequest, refreshUntil: Date | null): Promise<OpenedSession> {
    const { standing, amr, info, source } = request;
    if (source === undefined) demandSingleSignOn(standing, amr);
    const now = dateOf(clock);
    const sessionId = random.uuid();
    const deviceUuid = info.deviceUuid ?? random.uuid();
    const authTime = request.authTime ?? now;
    const leftMs = source === undefined ? Infinity : source.expiresAt.getTime() - now.getTime();
    const longestMs = refreshUntil === null ? Infinity : refreshUntil.getTime() - now.getTime();
    const ttlMs = Math.min(
      request.accessTtlMs ?? ttls.pairMs,
      leftMs,
      request.notAfter === undefined ? Infinity : longestMs,
    );
    const lifeMs = refreshUntil === null ? ttlMs : Math.max(ttlMs, Math.min(ttls.refreshIdleMs, longestMs));
    await insertSession(tx, {
      uuid: sessionId,
      userUuid: standing.userUuid,
      orgUuid: standing.org?.uuid ?? null,
      deviceUuid,
      amr,
      authTime,
      createdAt: now,
      address: info.address,
      userAgent: info.userAgent,
      expiresAt: dateOf(clock, Math.min(lifeMs, leftMs)),
      refreshUntil,
      secondFactorAt: request.secondFactor === true ? now : null,
      sourceUuid: source?.uuid ?? null,
      idleUntil: source === undefined ? null : dateOf(clock, lifeMs),
    });
    await Promise.all([
      // A sign-in of any kind resets the failure count that locks others out (decisions 13).
      source === undefined ? endStreak(tx, SIGN_IN_FAILURES, emailKeyOf(standing.email)) : undefined,
      standing.org === null ? undefined : markUsed(tx, standing.org.uuid, standing.userUuid, now),
    ]);
    const { accessToken, expiresIn } = await tokens.mint(tx, { standing, sessionId, amr, authTime, ttlMs });
    return { sessionId, deviceUuid, accessToken, tokenType: "Bearer", expiresIn };
  }

  return {
    /** A session with an access token alone: it ends with the token. */
    alone: (tx: Tx, request: OpenRequest): Promise<OpenedSession> => open(tx, request, null),

    /** A session with a token pair. */
    async pair(tx: Tx, request: OpenRequest): Promise<OpenedPair> {
      const refreshUntil = request.source?.absoluteEnd ?? request.notAfter ?? dateOf(clock, ttls.refreshMs);
      const opened = await open(tx, request, refreshUntil);
      const refresh = newOpaqueToken(random);
      const idleUntil = dateOf(clock, ttls.refreshIdleMs);
      await insertRefresh(
        tx,
        refresh.hash,
        opened.sessionId,
        dateOf(clock),
        idleUntil < refreshUntil ? idleUntil : refreshUntil,
      );
      return { ...opened, refreshToken: refresh.token };
    },
  };
}

/**
 * Demands that somebody who has proven who they are did so in the way their organization requires (decisions 17.8).
 * @throws {sso_required} when they did not
 */
export function demandSingleSignOn({ org }: Standing, amr: readonly string[]): void {
  if (org?.ssoRequired === true && !org.isOwner && !amr.includes("fed")) throw sessionErrors.ssoRequired();
}

/** Opening of sessions. */
export type Opening = ReturnType<typeof createOpen>;
