import { createHmac } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import { matchTotpStep } from "../../platform/crypto/totp.ts";
import type { Tx } from "../../platform/db/types.ts";
import { plainTotpCode } from "./rules.ts";
import * as store from "./store.ts";
import type { SecretRow } from "./store.ts";

/** What codes are judged with. */
export interface JudgeDeps {
  clock: Clock;
  /** Instance key. */
  sealer: Sealer;
}

/** Judges codes, and uses up those that are right. A secret that cannot be opened is an internal error. */
export function createJudge({ clock, sealer }: JudgeDeps) {
  function stepOf(userUuid: string, factor: SecretRow, code: string): number | undefined {
    return matchTotpStep(
      sealer.open(factor.secret, secretContext(userUuid)).toString("utf8"),
      plainTotpCode(code),
      clock.now(),
    );
  }

  return {
    /**
     * Takes a code of any active factor; the factor's id, undefined when the code is wrong or its step was taken
     * before.
     */
    async totp(tx: Tx, userUuid: string, code: string): Promise<number | undefined> {
      for (const factor of await store.activeSecrets(tx, userUuid)) {
        const step = stepOf(userUuid, factor, code);
        if (step !== undefined && (await store.takeStep(tx, factor.id, step))) return factor.id;
      }
      return undefined;
    },

    /** Takes the first code of a pending factor, which makes it active; false when it is wrong. */
    async activation(tx: Tx, userUuid: string, factor: SecretRow, code: string): Promise<boolean> {
      const step = stepOf(userUuid, factor, code);
      return step !== undefined && store.activateFactor(tx, factor.id, step, dateOf(clock));
    },

    /** Takes a recovery code; false when it is unknown or used. */
    async recovery(tx: Tx, userUuid: string, code: string): Promise<boolean> {
      const sealed = await store.recoveryKey(tx, userUuid);
      if (sealed === undefined) return false;
      return store.useRecoveryCode(
        tx,
        userUuid,
        hashRecoveryCode(sealer.open(sealed, recoveryContext(userUuid)), code),
        dateOf(clock),
      );
    },
  };
}

/** The judge of codes. */
export type Judge = ReturnType<typeof createJudge>;

/** What a factor's secret is sealed for. */
export function secretContext(userUuid: string): string {
  return `mfa_factors.secret:${userUuid}`;
}

/** What the key of recovery codes is sealed for. */
export function recoveryContext(userUuid: string): string {
  return `mfa_recovery_keys.key:${userUuid}`;
}

/** HMAC-SHA256 of a recovery code, read without regard to case and separators, `o` as 0, `i` and `l` as 1. */
export function hashRecoveryCode(key: Buffer, code: string): Buffer {
  const plain = code.toLowerCase().replaceAll(/[\s-]/gu, "").replaceAll("o", "0").replaceAll(/[il]/gu, "1");
  return createHmac("sha256", key).update(plain, "utf8").digest();
}
