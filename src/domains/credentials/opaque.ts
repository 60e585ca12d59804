import type { Caller } from "../../platform/caller.ts";
import { constantTimeEqual, hashToken } from "../../platform/crypto/opaque.ts";
import { errors } from "../../platform/errors.ts";
import { credential } from "../liveness/index.ts";
import type { KindName, Liveness, OpaqueRow, RowOf } from "../liveness/index.ts";
import { readSecret } from "./secret.ts";
import type { SecretKind } from "./secret.ts";
import type { UseRecorder } from "./uses.ts";

/** Kinds of credentials that are a secret under an id. */
type OpaqueKind = { [K in KindName]: RowOf<K> extends OpaqueRow ? K : never }[KindName];

/** Checks the secrets of one kind of credential. */
export interface OpaqueAuthenticator {
  /** Whether a token has the form of this kind. */
  accepts(token: string): boolean;
  /**
   * The caller of a token. Only an accepted one counts as used.
   * @throws {unauthorized} when it is unknown, revoked or expired, without a distinction
   */
  authenticate(token: string): Promise<Caller>;
  /**
   * The present caller of a token that was accepted before. It does not count as used.
   * @throws {unauthorized} when it is no longer valid
   */
  recheck(token: string): Promise<Caller>;
}

/** Members of a caller that no credential of an organization has. */
export const NOT_A_PERSON = {
  userUuid: null,
  email: null,
  sessionId: null,
  isOwner: false,
  isPlatformAdmin: false,
  isSuperuser: false,
  isOperator: false,
  canWriteVault: false,
  elevated: false,
  claims: null,
} as const;

/**
 * Creates the check of one kind of secret. The caller of a row stays the same while nothing about it changes, and is
 * frozen.
 */
export function createOpaqueAuthenticator<K extends OpaqueKind>(
  liveness: Liveness,
  form: SecretKind,
  kind: K,
  callerOf: (id: string, row: RowOf<K>) => Caller,
  uses: UseRecorder,
): OpaqueAuthenticator {
  const callers = new WeakMap<object, Caller>();

  async function verify(token: string): Promise<{ id: string; row: RowOf<K> }> {
    const read = readSecret(token);
    const row = read?.kind === form ? await liveness(credential(kind, read.id)) : undefined;
    if (read === undefined || row === undefined || !hasHash(token, row as RowOf<K> & OpaqueRow))
      throw errors.unauthorized();
    return { id: read.id, row };
  }

  function present({ id, row }: { id: string; row: RowOf<K> }): Caller {
    let caller = callers.get(row);
    if (caller === undefined) callers.set(row, (caller = Object.freeze(callerOf(id, row))));
    return caller;
  }

  return {
    accepts: (token) => token.startsWith(`${form}_`),
    async authenticate(token) {
      const verified = await verify(token);
      await uses.record(verified.id);
      return present(verified);
    },
    recheck: async (token) => present(await verify(token)),
  };
}

const hasHash = (token: string, { hash }: OpaqueRow): boolean =>
  constantTimeEqual(Buffer.from(hash, "hex"), hashToken(token));
