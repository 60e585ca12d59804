import { createClient } from "@connectrpc/connect";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import type { OwnSession } from "../../../gen/atrium/login/v1/login_pb.ts";
import { SessionsService } from "../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { failureOf } from "./failures.ts";
import { queries, transport } from "./session.ts";

const login = createClient(LoginService, transport);
const sessions = createClient(SessionsService, transport);

/** Codes of a session that ended meanwhile. */
const ENDED: ReadonlySet<string> = new Set(["already_revoked", "not_found"]);

/** Every session of the caller but this one. */
async function otherSessions(): Promise<OwnSession[]> {
  const others: OwnSession[] = [];
  for (let offset = 0; ; offset += 200) {
    const { data, total } = await login.listOwnSessions({ limit: 200, offset });
    others.push(...data.filter(({ current }) => !current));
    if (offset + data.length >= total || data.length === 0) return others;
  }
}

/**
 * Ends every session of the caller but this one until it is stopped; returns how many ended. One by one: ending all of
 * a device would, for an admin, end those of other people on it too.
 */
export async function endOtherSessions(signal: AbortSignal): Promise<number> {
  let ended = 0;
  try {
    for (const { deviceUuid, sessionId } of await otherSessions()) {
      if (signal.aborted) break;
      try {
        await sessions.revokeDeviceSession({ deviceUuid, sessionId });
        ended++;
      } catch (error) {
        if (!ENDED.has(failureOf(error).code)) throw error;
      }
    }
  } finally {
    void queries.invalidateQueries();
  }
  return ended;
}
