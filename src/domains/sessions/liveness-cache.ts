import type { LiveRow } from "./liveness-store.ts";

/** The instance's own subject: of sessions without an organization. */
const instance = "00000000-0000-0000-0000-000000000000";

/** Something known of a session and a key. */
export interface Known {
  readonly row: LiveRow;
  /** False as soon as it was told that something of it has changed, and once nobody would tell. */
  holds: boolean;
}

interface Entry extends Known {
  readonly name: string;
  readonly subjects: readonly string[];
}

/** What is known of sessions, found by name and by what it depends on. */
export interface LivenessCache {
  get(name: string): Known | undefined;
  set(name: string, sid: string, row: LiveRow): void;
  /** Forgets whatever depends on this session, person or organization. */
  drop(subject: string): void;
  clear(): void;
}

/** At most `size` entries, about half a kilobyte each; the one kept longest makes room. */
export function createLivenessCache(size: number): LivenessCache {
  const entries = new Map<string, Entry>();
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
    set(name, sid, row) {
      const before = entries.get(name) ?? (entries.size >= size ? entries.values().next().value : undefined);
      if (before !== undefined) remove(before);
      const entry: Entry = { name, row, holds: true, subjects: [sid, row.user_uuid, row.org_uuid ?? instance] };
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
