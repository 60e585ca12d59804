import { dateOf } from "../../platform/clock.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { isUuid } from "../../platform/value-rules.ts";
import type { InvitationsDeps } from "./deps.ts";
import { invitationErrors } from "./errors.ts";
import { demandPending, refusalOf } from "./rules.ts";
import * as store from "./store.ts";
import type { InvitationRow } from "./store.ts";

/** Invitations as their recipients see and accept them (decisions 2.6). */
export function createAcceptance({ database, clock }: Pick<InvitationsDeps, "database" | "clock">) {
  return {
    /**
     * The invitation a token stands for.
     * @throws {invitation_not_found} when the token is unknown, the invitation was withdrawn or replaced, or its sender
     * could no longer grant the role
     * @throws {invitation_expired} when it has expired or was accepted
     */
    async show(token: string): Promise<InvitationRow> {
      const found = isUuid(token)
        ? await store.invitationByToken(database, hashToken(token.toLowerCase()), dateOf(clock))
        : undefined;
      const invitation = demandPending(found);
      if (found?.isGrantable !== true) throw invitationErrors.notFound();
      return invitation;
    },

    /**
     * A pending invitation, read in a transaction and, if wanted, locked until that ends.
     * @throws {invitation_not_found} when there is none, or it was withdrawn or replaced
     * @throws {invitation_expired} {@link show}
     */
    async demandPending(tx: Tx, uuid: string, lock: "lock" | "no lock" = "no lock"): Promise<InvitationRow> {
      return demandPending(await store.invitationIn(tx, uuid, dateOf(clock), lock === "lock" ? "for update of i" : ""));
    },

    /**
     * Uses an invitation up: one of several concurrent transactions succeeds.
     * @throws {invitation_not_found} when it was withdrawn or replaced, or its sender could no longer grant the role
     * @throws {invitation_expired} when it has expired or was accepted
     */
    async use(tx: Tx, uuid: string): Promise<InvitationRow> {
      const used = await store.useInvitation(tx, uuid, dateOf(clock));
      if (used === undefined) throw refusalOf(await store.invitationIn(tx, uuid, dateOf(clock))) ?? errors.conflict();
      // After the invitation, in the order of a removal: the sender may be losing that power at this moment.
      if (!(await store.isGrantable(tx, uuid))) throw invitationErrors.notFound();
      return used;
    },
  };
}
