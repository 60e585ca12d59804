import { dateOf } from "../../platform/clock.ts";
import { newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Email } from "../../platform/email.ts";
import type { LoginDeps } from "./deps.ts";
import { insertMailToken } from "./store.ts";

/** A link with which the person of an address sets a new password; it works once `insert` is committed. */
export interface ResetLink {
  url: string;
  expiresAt: Date;
  /** Stores the hash of the link's token. */
  insert(tx: Tx): Promise<void>;
}

/** Makes a link to set a new password. */
export function newResetLink({ clock, random, config }: LoginDeps, email: Email): ResetLink {
  const { token, hash } = newOpaqueToken(random);
  const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.passwordResetMs)];
  return {
    url: `${config.baseUrl}/reset-password#token=${token}`,
    expiresAt,
    insert: (tx) =>
      insertMailToken(tx, {
        hash,
        purpose: "password_reset",
        email: email.address,
        emailKey: email.key,
        at,
        expiresAt,
      }),
  };
}
