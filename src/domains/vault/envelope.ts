import { openWith, sealWith } from "../../platform/crypto/sealed.ts";
import type { Random } from "../../platform/random.ts";

/** Length of every key of the vault, bytes. */
export const KEY_BYTES = 32;

/** Where a version belongs: bound as additional data to everything sealed for it. */
export interface Place {
  readonly orgUuid: string;
  readonly name: string;
  readonly version: number;
}

/** A version as it is stored. */
export interface SealedVersion {
  /** The organization key that wraps the key of this version. */
  keyId: string;
  wrappedKey: Buffer;
  value: Buffer;
}

/** An organization key, opened. Overwrite `key` after use. */
export interface OrganizationKey {
  readonly keyId: string;
  readonly key: Buffer;
}

type Bytes = Pick<Random, "bytes">;

// The name comes last: it is the only part without a fixed form.
const valueContext = ({ orgUuid, version, name }: Place): string => `vault-value:${orgUuid}:${version}:${name}`;
const keyContext = (keyId: string, { orgUuid, version, name }: Place): string =>
  `vault-key:${keyId}:${orgUuid}:${version}:${name}`;

/** Additional data of an organization key. */
export const organizationKeyContext = (orgUuid: string, keyId: string): string => `vault-org-key:${orgUuid}:${keyId}`;

/** Seals a value with a key of its own, which the organization key wraps. */
export function sealValue({ keyId, key }: OrganizationKey, place: Place, value: string, random: Bytes): SealedVersion {
  const own = random.bytes(KEY_BYTES);
  try {
    return {
      keyId,
      wrappedKey: sealWith(key, own, keyContext(keyId, place), random),
      value: sealWith(own, value, valueContext(place), random),
    };
  } finally {
    own.fill(0);
  }
}

/** Opens a value. @throws Error when any part of it was sealed for another place, or with another key */
export function openValue({ keyId, key }: OrganizationKey, place: Place, sealed: SealedVersion): string {
  if (sealed.keyId !== keyId) throw new Error("the version belongs to another organization key");
  const own = openWith(key, sealed.wrappedKey, keyContext(keyId, place));
  try {
    const plain = openWith(own, sealed.value, valueContext(place));
    try {
      return plain.toString("utf8");
    } finally {
      plain.fill(0);
    }
  } finally {
    own.fill(0);
  }
}

/** Wraps the key of a version with another organization key. @throws Error as {@link openValue} */
export function rewrapKey(
  from: OrganizationKey,
  to: OrganizationKey,
  place: Place,
  wrapped: Buffer,
  random: Bytes,
): Buffer {
  const own = openWith(from.key, wrapped, keyContext(from.keyId, place));
  try {
    return sealWith(to.key, own, keyContext(to.keyId, place), random);
  } finally {
    own.fill(0);
  }
}
