import type { Caller, RequestInfo, SvidName } from "../../platform/caller.ts";

/** The functions of the domains that verify credentials and look up what the gate needs to know about a caller. */
export interface Authenticators {
  /**
   * Returns the caller of an access token, an API key or an automation token.
   * @throws {unauthorized} when the token is not valid
   */
  bearer(token: string, info: RequestInfo): Promise<Caller>;
  /**
   * Returns the present caller of a bearer token that was accepted before; called repeatedly for open streams. Records
   * no use of a secret, while a session counts as seen.
   * @throws {unauthorized} when the token is no longer valid
   */
  recheck(token: string): Promise<Caller>;
  /**
   * Returns the caller of an X.509-SVID whose certificate was verified when its connection was opened.
   * @throws {unauthorized} when it has been revoked or has expired, or its identity has been deleted
   */
  svid(svid: SvidName, info: RequestInfo): Promise<Caller>;
  /**
   * Returns the present caller of an SVID that was accepted before, without recording a use; called repeatedly for open
   * streams.
   * @throws {unauthorized} when the SVID is no longer valid
   */
  recheckSvid(svid: SvidName): Promise<Caller>;
  /**
   * Returns the caller of a SCIM token; its `orgUuid` is the organization of the token.
   * @throws {unauthorized} when the token is not valid
   */
  scim(token: string, info: RequestInfo): Promise<Caller>;
  /**
   * Returns the relation of the caller to an app: `admin` for its administrators, `own` for other members of its
   * organization, undefined when the app does not exist for the caller.
   */
  appAdmin(caller: Caller, appId: string): Promise<"admin" | "own" | undefined>;
}
