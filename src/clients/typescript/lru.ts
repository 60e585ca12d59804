/** A map that forgets what was used least recently. */
export class Lru<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #size: number;
  /** Stands before the oldest entry: to find it from the start would pass all that were deleted since the map grew. */
  readonly #oldest: Iterator<K>;

  constructor(size: number) {
    this.#size = size;
    this.#oldest = this.#entries.keys();
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#size) return;
    const oldest = this.#oldest.next();
    if (oldest.done !== true) this.#entries.delete(oldest.value);
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }
}
