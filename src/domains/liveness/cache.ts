import type { LiveRow } from "./rows.ts";

/** A cached row. */
export interface Known {
  readonly row: LiveRow;
  /** False once the row has been removed from the cache. */
  holds: boolean;
}

interface Entry extends Known {
  readonly name: string;
  readonly subjects: readonly string[];
}

/** Rows of credentials, found by name and by the subjects they depend on. */
export interface LivenessCache {
  get(name: string): Known | undefined;
  set(name: string, row: LiveRow, subjects: readonly string[]): void;
  /** Removes the rows that depend on a subject: a credential, person, identity or organization. */
  drop(subject: string): void;
  clear(): void;
}

/** Creates a cache of at most `size` rows, about half a kilobyte each, first in, first out. */
export function createLivenessCache(size: number): LivenessCache {
  const entries = new Map<string, Entry>();
  // Stands before the oldest: to find it from the start would pass all that were removed since the map grew.
  const oldest = entries.values();
  const bySubject = new Map<string, Set<Entry>>();

  function remove(entry: Entry): void {
    entry.holds = false;
    entries.delete(entry.name);
    for (const subject of entry.subjects) {
      const dependent = bySubject.get(subject);
      dependent?.delete(entry);
      if (dependent?.size === 0) bySubject.delete(subject);
    }
  }

  return {
    get: (name) => entries.get(name),
    set(name, row, subjects) {
      const before = entries.get(name) ?? (entries.size >= size ? oldest.next().value : undefined);
      if (before !== undefined) remove(before);
      const entry: Entry = { name, row, holds: true, subjects };
      entries.set(name, entry);
      for (const subject of entry.subjects) {
        const dependent = bySubject.get(subject);
        if (dependent === undefined) bySubject.set(subject, new Set([entry]));
        else dependent.add(entry);
      }
    },
    drop(subject) {
      for (const entry of bySubject.get(subject) ?? []) remove(entry);
    },
    clear() {
      for (const entry of entries.values()) entry.holds = false;
      entries.clear();
      bySubject.clear();
    },
  };
}
