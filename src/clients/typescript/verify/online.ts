import { Code, createClient } from "../bundled/connect.ts";
import { AccessService } from "../../../../gen/atrium/access/v1/access_pb.ts";
import { AtriumError } from "../errors.ts";
import { Lru } from "../lru.ts";
import { createAtriumTransport } from "../transport.ts";
import type { Caller } from "./caller.ts";
import { TokenRefusal, unauthorized } from "./refusal.ts";

const MAX_ANSWERS = 10_000;

/** What the service says of a credential now. */
export type Present = Pick<
  Caller,
  | "userUuid"
  | "orgUuid"
  | "orgName"
  | "roles"
  | "entitlements"
  | "appAdmin"
  | "platformAdmin"
  | "sandbox"
  | "principal"
  | "scopes"
>;

/** Asks the service who a credential speaks for. @throws TokenRefusal */
export function createOnline(baseUrl: string, cacheMs: number, fetch: typeof globalThis.fetch | undefined) {
  const access = createClient(AccessService, createAtriumTransport({ baseUrl, ...(fetch !== undefined && { fetch }) }));
  const answers = new Lru<string, { present: Present; untilMs: number }>(MAX_ANSWERS);

  return async (token: string, options: { cached: boolean }): Promise<Present> => {
    const known = options.cached ? answers.get(token) : undefined;
    if (known !== undefined && Date.now() < known.untilMs) return known.present;
    const present = await ask(token);
    if (cacheMs > 0) answers.set(token, { present, untilMs: Date.now() + cacheMs });
    return present;
  };

  async function ask(token: string): Promise<Present> {
    try {
      const me = await access.getMe({}, { headers: { authorization: `Bearer ${token}` } });
      return {
        userUuid: me.userUuid ?? null,
        orgUuid: me.orgUuid ?? "",
        orgName: me.orgName ?? "",
        roles: me.roles,
        entitlements: me.entitlements,
        appAdmin: me.appAdmin,
        platformAdmin: me.platformAdmin,
        sandbox: me.sandbox,
        principal: me.principal === undefined ? undefined : { type: me.principal.type, id: me.principal.id },
        scopes: me.scopes,
      };
    } catch (reason) {
      answers.delete(token);
      const error = AtriumError.from(reason);
      if (error.code === Code.Unauthenticated) throw unauthorized("The service does not accept the credential.", error);
      throw new TokenRefusal("unavailable", "The service cannot be asked about the credential.", { cause: error });
    }
  }
}
