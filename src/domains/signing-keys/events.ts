/** Outbox topic: a key was replaced and its overlap has begun, or it was deleted. Payload: {@link KeyOverlap}. */
export const KEY_OVERLAP = "key.overlap";

/** Payload of {@link KEY_OVERLAP}. */
export interface KeyOverlap {
  key_id: string;
}
