import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { useEffect, useRef, useState } from "react";
import type { Failure } from "../../session/failures.ts";
import { useGuard } from "../guard.ts";
import { faultOf } from "./rules.ts";
import { changesOf, untouchedOf } from "./use-typed.ts";

/** Values of a form by the local names of the request's fields (`firstName`). */
export type Values<I extends DescMessage> = MessageInitShape<I> & Record<string, unknown>;

/** Some of the values of a form. */
export type Changes<I extends DescMessage> = Omit<Partial<MessageInitShape<I>>, "$typeName" | "$unknown">;

/** The state of a form over a request of the contract. */
export interface Form<I extends DescMessage = DescMessage> {
  readonly schema: I;
  readonly values: Values<I>;
  readonly errors: Readonly<Record<string, string>>;
  set(changes: Partial<Values<I>>): void;
  /** Gives a field the focus after the next paint; used with errors. */
  readonly element: { current: HTMLFormElement | null };
  /**
   * Handler of `onSubmit`: checks the rules of the contract, then calls `send`. Once that resolves to an answer, the
   * values that were sent are the unchanged ones.
   */
  submit(send: (values: Values<I>) => unknown): (event: { preventDefault(): void }) => void;
  /** Puts the violations of a refused call at their fields; `FailureNotice` does so in its form. */
  place(failure: Failure): void;
  reset(): void;
  /** Takes what was read anew into the fields that nobody typed in. */
  follow(read: MessageInitShape<I>): void;
  readonly changed: boolean;
  /** The values that differ from the first: what a partial update sends, so that it undoes no change of others. */
  readonly changes: Changes<I>;
}

/** A form of any request, as fields see it. */
export interface AnyForm {
  readonly schema: DescMessage;
  readonly values: Readonly<Record<string, unknown>>;
  readonly errors: Readonly<Record<string, string>>;
  readonly element: { current: HTMLFormElement | null };
  set(changes: Readonly<Record<string, unknown>>): void;
  place(failure: Failure): void;
}

/** A form over a request message: names, limits and formats are the contract's. */
export function useForm<I extends DescMessage>(schema: I, initial: MessageInitShape<I>, guarded = false): Form<I> {
  const [values, setValues] = useState(initial as Values<I>);
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const element = useRef<HTMLFormElement | null>(null);
  const [first, setFirst] = useState(initial as Values<I>);
  const changes = changesOf(values, first) as Changes<I>;
  const changed = Object.keys(changes).length > 0;
  useGuard(guarded && changed);

  // The first field with an error gets the focus.
  useEffect(() => {
    if (Object.keys(errors).length > 0) element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [errors]);

  function check(): boolean {
    const faults: Record<string, string> = {};
    for (const name of Object.keys(values)) {
      const field = schema.fields.find(({ localName }) => localName === name);
      const fault = field === undefined ? undefined : faultOf(field, values[name]);
      if (fault !== undefined) faults[name] = fault;
    }
    setErrors(faults);
    return Object.keys(faults).length === 0;
  }

  return {
    schema,
    values,
    errors,
    element,
    changed,
    changes,
    set(changes) {
      setValues((before) => ({ ...before, ...changes }));
      setErrors((before) =>
        Object.keys(changes).some((name) => name in before)
          ? Object.fromEntries(Object.entries(before).filter(([name]) => !(name in changes)))
          : before,
      );
    },
    submit: (send) => (event) => {
      event.preventDefault();
      if (check()) void Promise.resolve(send(values)).then((answer) => answer && setFirst(values));
    },
    place(failure) {
      const placed: Record<string, string> = {};
      for (const [name, message] of Object.entries(failure.fields)) {
        const field = schema.fields.find((one) => one.name === name.split(/[.[]/u)[0]);
        if (field !== undefined && field.localName in values) placed[field.localName] = message;
      }
      if (Object.keys(placed).length > 0) setErrors(placed);
    },
    reset() {
      setValues(first);
      setErrors({});
    },
    follow(read) {
      const untouched = untouchedOf(values, first, read as Values<I>);
      setValues({ ...values, ...untouched });
      setFirst({ ...first, ...untouched });
    },
  };
}
