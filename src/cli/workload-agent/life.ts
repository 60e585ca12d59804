/** Two readings of the time: the machine's clock, and one that nobody sets. Milliseconds. */
export interface Clocks {
  /** Since the epoch. */
  now(): number;
  /** Since any moment. It may stand still while the machine is suspended. */
  elapsed(): number;
}

/** How far an SVID is in its lifetime, measured from its receipt: this machine's clock may be wrong. */
export interface Life {
  /** Whether half of it is over. */
  isHalfOver(): boolean;
  isOver(): boolean;
}

/** Begins the life of an SVID that has just been received. */
export function createLife(lifetimeMs: number, { now, elapsed }: Clocks): Life {
  const [wall, ticks] = [now(), elapsed()];
  const ageMs = (): number => Math.max(now() - wall, elapsed() - ticks);
  return { isHalfOver: () => ageMs() >= lifetimeMs / 2, isOver: () => ageMs() >= lifetimeMs };
}
