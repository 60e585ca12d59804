import { dateOf } from "../../platform/clock.ts";
import type { RequestContext } from "../../platform/context.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import { databaseTime } from "../../platform/db/time.ts";
import type { Tx } from "../../platform/db/types.ts";
import { findConnection } from "./connection-store.ts";
import type { Connection } from "./connection-store.ts";
import type { OidcDeps } from "./deps.ts";
import { ProviderFault } from "./discovery.ts";
import { oidcErrors } from "./errors.ts";
import { insertLogout, lockForLogout, sessionsToEnd } from "./logout-store.ts";
import { verifyLogoutToken } from "./logout-token.ts";
import type { Logout } from "./logout-token.ts";
import type { Providers } from "./provider.ts";

/** How long the `jti` of an accepted token is remembered: longer than the token can be accepted. */
const REMEMBERED_MS = 15 * 60_000;

/** Back-channel logout (decisions 17.8, OpenID Connect Back-Channel Logout 1.0). */
export function createLogout(deps: OidcDeps, { documents }: Providers) {
  const { database, clock, sessions } = deps;

  async function end(tx: Tx, connection: Connection, logout: Logout, context: RequestContext): Promise<void> {
    const stored = {
      ...logout,
      connectionUuid: connection.uuid,
      jtiHash: hashToken(logout.jti),
      now: databaseTime(clock),
      expiresAt: dateOf(clock, REMEMBERED_MS),
    };
    // Sign-ins hold the connection while they open a session: each is either seen here, or sees this logout.
    if (!(await lockForLogout(tx, connection.uuid)) || !(await insertLogout(tx, stored))) return;
    const by = { info: context.info, reason: "backchannel_logout" };
    for (;;) {
      const opened = await sessionsToEnd(tx, connection.uuid, logout, dateOf(clock));
      if (opened.length === 0) return;
      for (const [userUuid, theirs] of Map.groupBy(opened, (one) => one.userUuid)) {
        const uuids = theirs.map(({ sessionUuid }) => sessionUuid);
        await sessions.ending.chosen(tx, connection.orgUuid, userUuid, uuids, by);
      }
    }
  }

  /**
   * Ends the sessions that a logout token names, once for each `jti`.
   * @throws {not_found} when there is no such connection
   * @throws {bad_request} when the token does not verify
   * @throws {provider_error} when the provider's keys cannot be had
   */
  return async function backchannelLogout(
    context: RequestContext,
    connectionUuid: string,
    logoutToken: string,
  ): Promise<void> {
    const connection = await findConnection(database, connectionUuid);
    if (connection === undefined) throw oidcErrors.notFound();
    const logout = await verifyLogoutToken({ documents, clock }, connection, logoutToken).catch((cause: unknown) => {
      throw cause instanceof ProviderFault ? oidcErrors.providerError({ cause }) : oidcErrors.logoutToken({ cause });
    });
    await context.transaction((tx) => end(tx, connection, logout, context));
  };
}
