/** Outbox topic: a key was replaced and its overlap runs. Payload: the key's id. */
export const KEY_OVERLAP = "key.overlap";

/** Payload of {@link KEY_OVERLAP}. */
export interface KeyOverlap {
  key_id: string;
}
