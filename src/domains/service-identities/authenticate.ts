import type { Caller, SvidName } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Reauthorize } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { isUuid } from "../../platform/value-rules.ts";
import { createOpaqueAuthenticator, createUseRecorder, NOT_A_PERSON } from "../credentials/index.ts";
import { credential } from "../liveness/index.ts";
import type { IdentityRow, SvidRow } from "../liveness/index.ts";
import * as store from "./authenticate-store.ts";
import type { ServiceIdentitiesDeps } from "./deps.ts";

/** A serial number of at most 20 octets (RFC 5280 §4.1.2.2). */
const serialForm = /^[0-9a-f]{1,40}$/u;

/** Authenticates service identities, by automation tokens and by SVIDs. */
export function createAuthenticate({
  database,
  clock,
  liveness,
}: Pick<ServiceIdentitiesDeps, "database" | "clock" | "liveness">) {
  /** The caller of an identity: what its role allows, as nobody's key is limited by scopes. */
  function callerOf(type: "automation_token" | "svid", row: IdentityRow, reauthorize: Reauthorize): Caller {
    const isAdmin = row.role === "admin";
    return {
      ...NOT_A_PERSON,
      principal: { type, id: row.identity_id },
      countsAs: `service_identity:${row.identity_id}`,
      orgUuid: row.org_uuid,
      orgName: row.org_name,
      roles: [row.role],
      isAdmin,
      canWriteVault: isAdmin,
      entitlements: row.entitlements,
      appAdmin: [],
      sandbox: row.sandbox,
      scopes: null,
      expiresAt: Math.floor(row.until / 1000),
      reauthorize,
    };
  }

  const svidUses = createUseRecorder(clock, (identityId, at) => store.recordIdentityUse(database, identityId, at));
  const callers = new WeakMap<SvidRow, Caller>();

  async function verifySvid({ orgUuid, serial, spiffeId }: SvidName): Promise<SvidRow> {
    const row =
      isUuid(orgUuid) && serialForm.test(serial)
        ? await liveness(credential("svid", orgUuid.toLowerCase(), serial))
        : undefined;
    if (row === undefined || row.spiffe_id !== spiffeId) throw errors.unauthorized();
    return row;
  }

  function callerOfSvid(row: SvidRow): Caller {
    let caller = callers.get(row);
    if (caller === undefined) {
      const { svid_id, identity_id, identity_version } = row;
      caller = callerOf("svid", row, (tx, how) =>
        store.reauthorizeSvid(tx, [svid_id, identity_id, identity_version, dateOf(clock), how === "change"]),
      );
      callers.set(row, Object.freeze(caller));
    }
    return caller;
  }

  return {
    /** Automation tokens, for the gate. */
    automationTokens: createOpaqueAuthenticator(
      liveness,
      "aut",
      "automation_token",
      (tokenId, row) =>
        callerOf("automation_token", row, (tx, how) =>
          store.reauthorizeAutomationToken(tx, [
            tokenId,
            row.identity_id,
            row.identity_version,
            dateOf(clock),
            how === "change",
          ]),
        ),
      createUseRecorder(clock, (tokenId, at) => store.recordTokenUse(database, tokenId, at)),
    ),

    /**
     * The caller of an SVID, decided by its own record alone: the listener has verified the chain, and that the client
     * has the key. To be called for every request.
     * @throws {unauthorized} when the SVID, its identity or its organization has ended, without a distinction
     */
    async authenticateSvid(svid: SvidName): Promise<Caller> {
      const row = await verifySvid(svid);
      await svidUses.record(row.identity_id);
      return callerOfSvid(row);
    },

    /**
     * The present caller of an SVID that was accepted before; called repeatedly for open streams.
     * @throws {unauthorized} when it is no longer valid
     */
    recheckSvid: async (svid: SvidName): Promise<Caller> => callerOfSvid(await verifySvid(svid)),
  };
}
