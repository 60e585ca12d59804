import { useId, useState } from "react";
import type { ComponentProps, ReactNode } from "react";
import { Button } from "../Button.tsx";
import { classes, inWords } from "../words.ts";
import style from "./Field.module.css";
import { isTight, rulesOf } from "./rules.ts";
import { FormScope, useShown } from "./scope.tsx";
import type { AnyForm } from "./use-form.ts";

interface InputProps extends Omit<ComponentProps<"input">, "onChange" | "value"> {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: ReactNode;
  error?: string | undefined;
  /** Shown after the label where a field may stay empty. */
  optional?: boolean;
  large?: boolean;
  code?: boolean;
}

/** A labelled text field with its hint and its error. */
export function Input({ label, value, onChange, hint, error, optional, large, code, type, ...rest }: InputProps) {
  const id = useId();
  const [shown, setShown] = useState(false);
  const secret = type === "password";
  const input = (
    <input
      {...rest}
      id={id}
      type={secret && shown ? "text" : (type ?? "text")}
      className={classes(style["input"], large && style["large"], code && style["code"])}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      aria-invalid={error !== undefined || undefined}
      aria-describedby={classes(hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`) || undefined}
    />
  );
  return (
    <div className={style["field"]}>
      <label className={style["label"]} htmlFor={id}>
        {label}
        {optional && <small aria-hidden>optional</small>}
      </label>
      {secret ? (
        <div className={style["secret"]}>
          {input}
          <span className={style["reveal"]}>
            <Button look="quiet" small aria-pressed={shown} onClick={() => setShown(!shown)}>
              {shown ? "Hide" : "Show"}
              <span className="visually-hidden"> {label}</span>
            </Button>
          </span>
        </div>
      ) : (
        input
      )}
      {hint !== undefined && (
        <div id={`${id}-hint`} className={style["hint"]}>
          {hint}
        </div>
      )}
      {error !== undefined && <FieldError id={`${id}-error`}>{error}</FieldError>}
    </div>
  );
}

/** What is wrong with a field. */
export function FieldError({ children, ...rest }: ComponentProps<"div"> & { children: string }) {
  useShown(children);
  return (
    <div {...rest} className={style["error"]}>
      {children}
    </div>
  );
}

interface FieldProps extends Omit<InputProps, "label" | "value" | "onChange" | "error" | "form" | "name"> {
  form: AnyForm;
  /** Local name of the field of the request: `firstName`. */
  name: string;
  label?: string;
}

/** A text or number field of a request: label, limits and errors come from the contract. */
export function Field({ form, name, label, ...rest }: FieldProps) {
  const field = form.schema.field[name];
  if (field === undefined) throw new Error(`${form.schema.typeName} has no field ${name}`);
  const rule = rulesOf(field);
  const isNumber = field.fieldKind === "scalar" && typeof form.values[name] === "number";
  const value = form.values[name] as string | number | undefined;
  const valueOf = (text: string): string | number => {
    if (isNumber) return text === "" ? Number.NaN : Number(text);
    return rule !== undefined && isTight(rule) ? text.trim() : text;
  };
  return (
    <Input
      {...(isNumber && { inputMode: "numeric" as const, min: rule?.min, max: rule?.max, type: "number" })}
      {...rest}
      name={field.name}
      label={label ?? inWords(field.name)}
      value={value === undefined || Number.isNaN(value) ? "" : String(value)}
      onChange={(text) => form.set({ [name]: valueOf(text) })}
      error={form.errors[name]}
      aria-required={rule?.required || undefined}
    />
  );
}

interface TextAreaProps extends Omit<ComponentProps<"textarea">, "onChange" | "value"> {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: ReactNode;
  error?: string | undefined;
}

/** A labelled field of several lines. */
export function TextArea({ label, value, onChange, hint, error, rows = 4, ...rest }: TextAreaProps) {
  const id = useId();
  return (
    <div className={style["field"]}>
      <label className={style["label"]} htmlFor={id}>
        {label}
      </label>
      <textarea
        {...rest}
        id={id}
        rows={rows}
        className={classes(style["input"], style["area"])}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        aria-invalid={error !== undefined || undefined}
        aria-describedby={
          classes(hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`) || undefined
        }
      />
      {hint !== undefined && (
        <div id={`${id}-hint`} className={style["hint"]}>
          {hint}
        </div>
      )}
      {error !== undefined && <FieldError id={`${id}-error`}>{error}</FieldError>}
    </div>
  );
}

interface SelectProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: readonly (readonly [value: string, label: string])[];
  hint?: ReactNode;
  error?: string | undefined;
}

/** A choice of one, as the browser's own list: it works by keyboard, on phones and at any zoom. */
export function Select({ label, value, onChange, options, hint, error }: SelectProps) {
  const id = useId();
  return (
    <div className={style["field"]}>
      <label className={style["label"]} htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className={style["input"]}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        aria-invalid={error !== undefined || undefined}
        aria-describedby={
          classes(hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`) || undefined
        }
      >
        {options.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
      </select>
      {hint !== undefined && (
        <div id={`${id}-hint`} className={style["hint"]}>
          {hint}
        </div>
      )}
      {error !== undefined && <FieldError id={`${id}-error`}>{error}</FieldError>}
    </div>
  );
}

interface CheckProps extends Omit<ComponentProps<"input">, "onChange" | "type"> {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
}

/** A checkbox with its label. */
export function Check({ label, checked, onChange, ...rest }: CheckProps) {
  return (
    <label className={style["check"]}>
      <input {...rest} type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      <span>{label}</span>
    </label>
  );
}

interface RadiosProps {
  legend: string;
  name: string;
  value: string;
  onChange: (value: string) => void;
  options: readonly (readonly [value: string, label: string])[];
}

/** A choice of one, all shown. */
export function Radios({ legend, name, value, onChange, options }: RadiosProps) {
  return (
    <fieldset className={style["choices"]}>
      <legend>{legend}</legend>
      {options.map(([one, words]) => (
        <label key={one} className={style["check"]}>
          <input type="radio" name={name} value={one} checked={one === value} onChange={() => onChange(one)} />
          <span>{words}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A form: its fields under each other. Violations of a refused call are at its fields, the others in its notice. */
export function FormBody({ form, children, ...rest }: ComponentProps<"form"> & { form?: AnyForm }) {
  return (
    <FormScope form={form}>
      <form {...rest} ref={form?.element ?? null} className={style["form"]} noValidate>
        {children}
      </form>
    </FormScope>
  );
}
