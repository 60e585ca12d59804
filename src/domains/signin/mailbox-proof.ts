import type { RequestInfo } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Email } from "../../platform/email.ts";
import type { SigninDeps } from "./deps.ts";

/** Proof of a mailbox, for the doors that go by mail. */
export function createMailboxProof({ users, sessions, mfa }: Pick<SigninDeps, "users" | "sessions" | "mfa">) {
  /**
   * The person behind an address that has just been proven, made when there is none; row locked. The first proof ends
   * every credential made before it: password, sessions, factors, recovery codes. Whoever signed up with somebody
   * else's address keeps nothing.
   */
  return async function prove(tx: Tx, email: Email, info: RequestInfo): Promise<string> {
    const { person, lostCredentials } = await users.people.proven(tx, email);
    if (lostCredentials) {
      await sessions.own.endAll(tx, person.uuid, "mailbox_proven", info);
      await mfa.factors.endAll(tx, person.uuid, "mailbox_proven", info);
    }
    return person.uuid;
  };
}
