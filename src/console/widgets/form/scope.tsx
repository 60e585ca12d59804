import { createContext, useContext, useLayoutEffect, useMemo, useState } from "react";
import type { ReactNode } from "react";
import type { Failure } from "../../session/failures.ts";
import { inWords } from "../words.ts";
import type { AnyForm } from "./use-form.ts";

/** What the fields of a form and its notice know of each other. */
interface Scope {
  readonly form: AnyForm | undefined;
  /** Messages that fields have shown since the last refusal. */
  readonly shown: readonly string[];
  show(message: string): void;
  forget(): void;
}

const ScopeContext = createContext<Scope>({
  form: undefined,
  shown: [],
  show: () => undefined,
  forget: () => undefined,
});

/** Fields, and the notice of why their call was refused: what a field shows is not listed in the notice. */
export function FormScope({ form, children }: { form?: AnyForm | undefined; children: ReactNode }) {
  const [shown, setShown] = useState<readonly string[]>([]);
  const actions = useMemo(
    () => ({
      show: (message: string) => setShown((before) => (before.includes(message) ? before : [...before, message])),
      forget: () => setShown((before) => (before.length === 0 ? before : [])),
    }),
    [],
  );
  return <ScopeContext value={{ form, shown, ...actions }}>{children}</ScopeContext>;
}

/** Notes that a field shows a message. It stays noted when the field is edited: the notice does not grow then. */
export function useShown(message: string): void {
  const { show } = useContext(ScopeContext);
  useLayoutEffect(() => show(message), [message, show]);
}

/** Puts the violations of a refused call at the fields of the form, and returns those that no field shows. */
export function useUnshown(failure: Failure): readonly string[] {
  const { form, shown, forget } = useContext(ScopeContext);
  // By value: a query gives another object of the same failure at each render.
  const violations = JSON.stringify(failure.fields);
  // Before the paint, so that a violation does not move from the notice to its field.
  useLayoutEffect(() => {
    form?.place(failure);
    return forget;
  }, [violations]);
  return violationsOf(failure, ([, message]) => !shown.includes(message));
}

/** The violations of a failure, each with its field in words. */
export const violationsOf = (
  { fields = {} }: Partial<Pick<Failure, "fields">>,
  which: (violation: readonly [field: string, message: string]) => boolean = () => true,
): readonly string[] =>
  Object.entries(fields)
    .filter(which)
    .map(([field, message]) => `${inWords(countedFromOne(field))}: ${message}`);

/** `tags[1]` → `tags 2`: people count from one. */
const countedFromOne = (field: string): string =>
  field.replaceAll(/\[(\d+)\]/gu, (_match, index: string) => ` ${Number(index) + 1}`);

/** What is wrong with a field that is typed as a list: with the list, or with one of its entries, by its number. */
export function listError(failure: Failure | undefined, field: string): string | undefined {
  for (const [name, message] of Object.entries(failure?.fields ?? {})) {
    const [, list, index] = /^(\w+)(?:\[(\d+)\])?/u.exec(name) ?? [];
    if (list === field) return index === undefined ? message : `Entry ${Number(index) + 1}: ${message}`;
  }
  return undefined;
}
