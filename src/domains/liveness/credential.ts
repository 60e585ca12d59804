import type { KindName } from "./kinds.ts";

/** A credential as it is asked about. */
export interface Credential<K extends KindName = KindName> {
  readonly kind: K;
  /** A UUID; see {@link KINDS} for what it is. */
  readonly id: string;
  /** Letters, digits, `-` and `_`; empty where the id says all. */
  readonly detail: string;
  /** All of it as one text: the key of the cache. */
  readonly name: string;
}

/** A credential of a kind. `id` must be a UUID in lower case, `detail` letters, digits, `-` and `_`. */
export function credential<K extends KindName>(kind: K, id: string, detail = ""): Credential<K> {
  return { kind, id, detail, name: `${kind}/${id}/${detail}` };
}
