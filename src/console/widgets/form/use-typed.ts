import { useState } from "react";

type Values = Readonly<Record<string, unknown>>;

/** What is typed over what a page reads, and the values that it was typed over. */
export interface Typed<V extends Values> {
  readonly values: V;
  /** The values that differ: what a partial update sends, so that it undoes no change of others. */
  readonly changes: Partial<V>;
  readonly changed: boolean;
  /** The unchanged values. */
  readonly base: V;
  set(changes: Partial<V>): void;
  /** Notes that these values are stored. */
  saved(values: V): void;
}

/** Fields over what a page reads: untouched ones follow what is read anew, the others keep what is typed. */
export function useTyped<S, V extends Values>(source: S, valuesOf: (source: S) => V): Typed<V> {
  const [values, setValues] = useState(() => valuesOf(source));
  const [base, setBase] = useState(values);
  useReadAnew(source, (read) => {
    const untouched = untouchedOf(values, base, valuesOf(read));
    setValues({ ...values, ...untouched });
    setBase({ ...base, ...untouched });
  });
  const changes = changesOf(values, base);
  return {
    values,
    changes,
    changed: Object.keys(changes).length > 0,
    base,
    set: (next) => setValues((before) => ({ ...before, ...next })),
    saved: setBase,
  };
}

/** Calls `take` while the component renders with another value than before. */
export function useReadAnew<T>(read: T, take: (read: T) => void): void {
  const [seen, setSeen] = useState(read);
  if (seen === read) return;
  setSeen(read);
  take(read);
}

/** The values that differ from others. */
export const changesOf = <V extends Values>(values: V, base: V): Partial<V> =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== base[name])) as Partial<V>;

/** What was read, of the fields that nobody typed in. */
export const untouchedOf = <V extends Values>(values: V, base: V, read: V): Partial<V> =>
  Object.fromEntries(Object.entries(read).filter(([name]) => values[name] === base[name])) as Partial<V>;
