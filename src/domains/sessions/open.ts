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
import { keepIdentity } from "./provider-store.ts";
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
  /** Lifetime of a sign-in's session, however often it is refreshed, milliseconds; default that of refresh tokens. */
  sessionTtlMs?: number | undefined;
  /** The absolute end of the session whose token opens this one; a sign-in has one of its own. */
  notAfter?: Date | undefined;
  /** The session whose token opens this one, which keeps its identity at a provider and ends with a logout there. */
  openedBy?: string | null | undefined;
  /** The organization whose identity provider opens this one, or opened the one whose token does. */
  providerOrgUuid?: string | null | undefined;
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

/** A session that opens when its transaction commits. `sign` may be called after the commit. */
export interface Opening<S extends OpenedSession> extends Pick<S, "sessionId" | "deviceUuid"> {
  sign(): Promise<S>;
}

/** Opening of sessions, the same for every kind of sign-in. */
export function createOpen({ clock, random, tokens, ttls }: OpenDeps) {
  function begin(tx: Tx, request: OpenRequest, refreshUntil: Date | null): Opening<OpenedSession> {
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
    insertSession(tx, {
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
      providerOrgUuid: source?.providerOrgUuid ?? request.providerOrgUuid ?? null,
    });
    if (request.openedBy) keepIdentity(tx, request.openedBy, sessionId);
    // A sign-in of any kind resets the failure count that locks others out (decisions 13).
    if (source === undefined) endStreak(tx, SIGN_IN_FAILURES, emailKeyOf(standing.email));
    if (standing.org !== null) markUsed(tx, standing.org.uuid, standing.userUuid, now);
    const mint = tokens.mintLater(tx, { standing, sessionId, amr, authTime, ttlMs });
    return {
      sessionId,
      deviceUuid,
      async sign() {
        const { accessToken, expiresIn } = await mint();
        return { sessionId, deviceUuid, accessToken, tokenType: "Bearer", expiresIn };
      },
    };
  }

  /** Sends the statements that open a session with a token pair, without waiting for their results. */
  function pairLater(tx: Tx, request: OpenRequest): Opening<OpenedPair> {
    const sessionTtlMs = request.sessionTtlMs ?? ttls.refreshMs;
    const refreshUntil = request.source?.absoluteEnd ?? request.notAfter ?? dateOf(clock, sessionTtlMs);
    const opening = begin(tx, request, refreshUntil);
    const refresh = newOpaqueToken(random);
    const idleUntil = dateOf(clock, ttls.refreshIdleMs);
    const until = idleUntil < refreshUntil ? idleUntil : refreshUntil;
    insertRefresh(tx, refresh.hash, opening.sessionId, dateOf(clock), until);
    return { ...opening, sign: async () => ({ ...(await opening.sign()), refreshToken: refresh.token }) };
  }

  return {
    /** A session with an access token alone: it ends with the token. */
    alone: async (tx: Tx, request: OpenRequest): Promise<OpenedSession> => begin(tx, request, null).sign(),

    /** A session with a token pair. */
    pair: async (tx: Tx, request: OpenRequest): Promise<OpenedPair> => pairLater(tx, request).sign(),

    pairLater,
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
export type Openings = ReturnType<typeof createOpen>;
