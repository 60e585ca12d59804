import { createClient } from "@connectrpc/connect";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { SessionsService } from "../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { queries, transport } from "./session.ts";

const login = createClient(LoginService, transport);
const sessions = createClient(SessionsService, transport);

/** Ends every session of the caller but this one; returns how many ended. */
export async function endOtherSessions(): Promise<number> {
  const devices = new Set<string>();
  for (let offset = 0; ; offset += 200) {
    const { data, total } = await login.listOwnSessions({ limit: 200, offset });
    for (const { deviceUuid } of data) devices.add(deviceUuid);
    if (offset + data.length >= total || data.length === 0) break;
  }
  let ended = 0;
  for (const deviceUuid of devices) {
    const { revoked } = await sessions.revokeDeviceSessions({ deviceUuid, excludeCurrent: true });
    ended += revoked;
  }
  void queries.invalidateQueries();
  return ended;
}
