import { createSecretKey, timingSafeEqual } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { openWith, sealWith } from "../../platform/crypto/sealed.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import { ServiceError } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import { vaultErrors } from "./errors.ts";

/** The seal as every statement on secrets reads it, in the same snapshot as the secrets. */
export interface SealRow {
  sealed: boolean;
  /** Changes whenever the vault is sealed or unsealed. */
  epoch: number;
  /** The master key that an operator entered, wrapped with the instance key; null where none was. */
  sharedKey: Buffer | null;
}

/** The master key while the vault is unsealed. */
export interface MasterKey {
  seal(plain: Buffer, context: string): Buffer;
  /** The caller overwrites what it returns. @throws Error when the box was sealed otherwise */
  open(box: Buffer, context: string): Buffer;
}

/** Dependencies of the master keys. */
export interface MasterKeysDeps {
  /** From the configuration. */
  masterKey: Buffer | undefined;
  /** A former one, which only opens (decisions 17.10). */
  previousMasterKey: Buffer | undefined;
  /** Of the instance key. */
  sealer: Sealer;
  random: Pick<Random, "bytes">;
}

/** A master key in memory, for one epoch of the seal. */
interface Held {
  readonly epoch: number;
  readonly key: Buffer;
  /** Whether it has been overwritten. */
  isForgotten: boolean;
}

const CHECK = "atrium vault";
/** The context that the check of a master key is sealed with. */
export const CHECK_CONTEXT = "vault-master-key-check";
/** The context that an entered master key is sealed with. */
export const sharedContext = (epoch: number): string => `vault-shared-key:${epoch}`;

/** A box that only this master key opens: it proves later that an entered key is the right one. */
export function checkOf(key: Buffer, random: Pick<Random, "bytes">): Buffer {
  return sealWith(key, CHECK, CHECK_CONTEXT, random);
}

/** Whether a key is the one that a check was made with. */
function isKeyOf(key: Buffer, check: Buffer): boolean {
  try {
    return openWith(key, check, CHECK_CONTEXT).toString("utf8") === CHECK;
  } catch {
    return false;
  }
}

/**
 * The master key of this instance: the configured one where the stored check confirms it, else the one that an operator
 * entered on any instance. The latter is kept in memory for one epoch of the seal and overwritten as soon as a
 * statement reads another.
 */
export function createMasterKeys({ masterKey, previousMasterKey, sealer, random }: MasterKeysDeps) {
  let isOwnRight = false;
  /** The configured key, made on first use. It stays in memory anyway; as an object it opens a box in half the time. */
  let own: MasterKey | undefined;
  let shared: Held | undefined;

  function forget(): void {
    if (shared === undefined) return;
    shared.isForgotten = true;
    shared.key.fill(0);
    shared = undefined;
  }

  function using(key: () => Buffer | KeyObject): MasterKey {
    return {
      seal: (plain, context) => sealWith(key(), plain, context, random),
      open(box, context) {
        try {
          return openWith(key(), box, context);
        } catch (error) {
          if (previousMasterKey === undefined || error instanceof ServiceError) throw error;
          return openWith(previousMasterKey, box, context);
        }
      },
    };
  }

  function usingOwn(key: Buffer): MasterKey {
    const object = createSecretKey(key);
    return using(() => object);
  }

  /** @throws {vault_sealed} when the key was overwritten since: a box sealed with zeros would be open to everybody */
  const usingShared = (entry: Held): MasterKey =>
    using(() => {
      if (entry.isForgotten) throw vaultErrors.sealed();
      return entry.key;
    });

  return {
    /** Compares the configured key with the stored check. */
    confirm(check: Buffer): boolean {
      isOwnRight =
        masterKey !== undefined &&
        (isKeyOf(masterKey, check) || (previousMasterKey !== undefined && isKeyOf(previousMasterKey, check)));
      return isOwnRight;
    },

    /** Whether an entered key is the one that the vault is sealed with. */
    isRight: (key: Buffer, check: Buffer): boolean =>
      isKeyOf(key, check) || (isOwnRight && masterKey !== undefined && timingSafeEqual(key, masterKey)),

    /** Wraps an entered key for the other instances. */
    wrap: (key: Buffer, epoch: number): Buffer => sealer.seal(key, sharedContext(epoch)),

    /** The master key; undefined while the vault is sealed here. Use it at once, and do not keep it. */
    find({ sealed, epoch, sharedKey }: SealRow): MasterKey | undefined {
      if (sealed || epoch !== shared?.epoch) forget();
      if (sealed) return undefined;
      if (isOwnRight && masterKey !== undefined) return (own ??= usingOwn(masterKey));
      if (sharedKey === null) return undefined;
      try {
        shared ??= { epoch, key: sealer.open(sharedKey, sharedContext(epoch)), isForgotten: false };
      } catch {
        // Wrapped with another instance key, or tampered with: sealed, so that an operator can enter the key again.
        return undefined;
      }
      return usingShared(shared);
    },
  };
}

/** The master keys as the vault uses them. */
export type MasterKeys = ReturnType<typeof createMasterKeys>;
