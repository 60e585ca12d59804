import { createHmac } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import { matchTotpStep } from "../../platform/crypto/totp.ts";
import type { Tx } from "../../platform/db/types.ts";
import { plainTotpCode } from "./rules.ts";
import * as store from "./store.ts";
import type { SecretRow } from "./store.ts";

/** Dependencies of the verification of codes. */
export interface CodesDeps {
  clock: Clock;
  /** Seals with the instance key. */
  sealer: Sealer;
}

/** Verifies codes, and uses up those that are right. A secret that cannot be opened is an internal error. */
export function createCodes({ clock, sealer }: CodesDeps) {
  function stepOf(userUuid: string, factor: SecretRow, code: string): number | undefined {
    return matchTotpStep(
      sealer.open(factor.secret, secretContext(userUuid)).toString("utf8"),
      plainTotpCode(code),
      clock.now(),
    );
  }

  return {
    /** Uses a code of any active factor; returns the factor's id, undefined when the code is wrong or was used. */
    async useTotp(tx: Tx, userUuid: string, code: string): Promise<number | undefined> {
      for (const factor of await store.activeSecrets(tx, userUuid)) {
        const step = stepOf(userUuid, factor, code);
        if (step !== undefined && (await store.takeStep(tx, factor.id, step))) return factor.id;
      }
      return undefined;
    },

    /** Activates a pending factor by its first code; false when the code is wrong. */
    async activate(tx: Tx, userUuid: string, factor: SecretRow, code: string): Promise<boolean> {
      const step = stepOf(userUuid, factor, code);
      return step !== undefined && store.activateFactor(tx, factor.id, step, dateOf(clock));
    },

    /** Uses a recovery code; false when it is unknown or used. */
    async useRecoveryCode(tx: Tx, userUuid: string, code: string): Promise<boolean> {
      const sealed = await store.recoveryKey(tx, userUuid);
      if (sealed === undefined) return false;
      const hash = hashRecoveryCode(sealer.open(sealed, recoveryContext(userUuid)), code);
      return store.useRecoveryCode(tx, userUuid, hash, dateOf(clock));
    },
  };
}

/** Verification of codes. */
export type Codes = ReturnType<typeof createCodes>;

/** The context a factor's secret is sealed with. */
export function secretContext(userUuid: string): string {
  return `mfa_factors.secret:${userUuid}`;
}

/** The context the key of recovery codes is sealed with. */
export function recoveryContext(userUuid: string): string {
  return `mfa_recovery_keys.key:${userUuid}`;
}

/** HMAC-SHA256 of a recovery code, read without case and separators, `o` as 0, `i` and `l` as 1. */
export function hashRecoveryCode(key: Buffer, code: string): Buffer {
  const plain = code.toLowerCase().replaceAll(/[\s-]/gu, "").replaceAll("o", "0").replaceAll(/[il]/gu, "1");
  return createHmac("sha256", key).update(plain, "utf8").digest();
}
