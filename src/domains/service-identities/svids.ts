import { dateOf } from "../../platform/clock.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { ServiceIdentitiesDeps } from "./deps.ts";
import * as store from "./svid-store.ts";
import type { NewSvid, RevokedSvid, SvidFilter, SvidRow } from "./svid-store.ts";

/**
 * The records of issued X.509-SVIDs, for the domain that issues them: it keeps the identity in its transaction
 * (`identities.keep`), and emits the events.
 */
export function createSvids({ database, clock }: Pick<ServiceIdentitiesDeps, "database" | "clock">) {
  return {
    /** Stores the record of an SVID that is being issued to an identity which the transaction keeps. */
    recordSvid: (tx: Tx, orgUuid: string, svid: NewSvid): Promise<void> => store.insertSvid(tx, orgUuid, svid),

    /** Whether an identity has an active SVID with a SPIFFE id that an administrator issued. */
    hasFromAdmin: (tx: Tx, identityId: string, spiffeId: string): Promise<boolean> =>
      store.hasFromAdmin(tx, identityId, spiffeId, dateOf(clock)),

    /** SVIDs of an organization, newest first. */
    listSvids: (orgUuid: string, filter: SvidFilter, page: Page) =>
      store.svidsOf(database, orgUuid, filter, dateOf(clock), page),

    /**
     * Revokes an SVID of an organization; returns its record with `already` when it was revoked before, undefined when
     * there is none.
     */
    async revokeSvid(
      tx: Tx,
      orgUuid: string,
      svidId: string,
    ): Promise<{ svid: SvidRow; outcome: "revoked" | "already" } | undefined> {
      const svid = await store.lockSvid(tx, orgUuid, svidId);
      if (svid === undefined) return undefined;
      const at = dateOf(clock);
      const isRevoked = await store.revokeSvid(tx, svidId, at);
      return isRevoked ? { svid: { ...svid, revokedAt: at }, outcome: "revoked" } : { svid, outcome: "already" };
    },

    /** Revoked SVIDs of an organization that have not expired, by serial: the entries of its revocation list. */
    revokedSvids: (orgUuid: string): Promise<RevokedSvid[]> => store.revokedSvidsOf(database, orgUuid, dateOf(clock)),
  };
}
