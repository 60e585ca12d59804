import { X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { failureOf } from "../../session/failures.ts";
import { alertToast } from "../toasts.ts";
import { inWords } from "../words.ts";
import style from "./DataTable.module.css";
import type { ListState } from "./use-list.ts";

/** A filter of a list: a field of the request with a few values, or one that is typed. */
export interface Filter {
  /** Name in the address. */
  name: string;
  label: string;
  /** The values to choose from, with their words; without any it is set by a link alone. */
  values: readonly (readonly [value: string, label: string])[];
  /** A day to choose, in UTC, instead of a list of values. */
  isDay?: boolean;
  /** It is typed, instead of chosen: an example of a value. */
  typed?: string;
  /** The value of what is typed, where that is not the same; undefined where there is none. */
  find?: (text: string) => Promise<string | undefined>;
  /** A value in words, where no choice names it. */
  words?: (value: string) => ReactNode;
  /** What the list shows while nothing is chosen; `any` when left out. */
  unset?: string;
}

interface ToolsProps {
  things: string;
  list: ListState;
  searchable: boolean;
  filters: readonly Filter[];
  children: ReactNode;
}

/** Search and filters over a table; what narrows the list is shown as chips that can be removed. */
export function Tools({ things, list, searchable, filters, children }: ToolsProps) {
  const active = filters.filter(({ name }) => name in list.filters);
  return (
    <>
      <div className={style["tools"]}>
        {searchable && <Search things={things} list={list} />}
        {filters.map(
          ({ name, label, isDay }) => isDay === true && <Day key={name} name={name} label={label} list={list} />,
        )}
        {filters.map(
          ({ name, label, typed, find }) =>
            typed !== undefined && (
              <Typed key={name} name={name} label={label} example={typed} list={list} find={find} />
            ),
        )}
        {filters.map(
          ({ name, label, values, unset = "any" }) =>
            values.length > 0 && (
              <select
                key={name}
                className={style["filter"]}
                aria-label={label}
                value={list.filters[name] ?? ""}
                onChange={(event) => list.set({ [name]: event.target.value })}
              >
                <option value="">
                  {label}: {unset}
                </option>
                {values.map(([value, words]) => (
                  <option key={value} value={value}>
                    {words}
                  </option>
                ))}
              </select>
            ),
        )}
        <span className={style["spacer"]} />
        {children}
      </div>
      {active.length > 0 && (
        <div className={style["chips"]}>
          {active.map(({ name, label, values, words = wordsOf }) => (
            <button
              key={name}
              type="button"
              className={style["chip"]}
              aria-label={`Remove filter ${label}`}
              onClick={() => list.set({ [name]: undefined })}
            >
              {label}: {values.find(([value]) => value === list.filters[name])?.[1] ?? words(list.filters[name] ?? "")}
              <X size={12} aria-hidden />
            </button>
          ))}
          <button
            type="button"
            className={style["chip"]}
            onClick={() =>
              list.set(Object.fromEntries([...active.map(({ name }) => name), "q"].map((name) => [name, undefined])))
            }
          >
            Clear filters
          </button>
        </div>
      )}
    </>
  );
}

/** A value that no choice names: an id is shortened; an event type or a day stays as it is. */
function wordsOf(value: string): string {
  if (/^[0-9a-f-]{36}$/iu.test(value)) return `${value.slice(0, 8)}…`;
  return /[.\d]/u.test(value) ? value : inWords(value);
}

interface TypedProps {
  name: string;
  label: string;
  example: string;
  list: ListState;
  find: Filter["find"];
}

/** A value that is typed. It narrows the list when it is complete: by Enter, or when the field is left. */
function Typed({ name, label, example, list, find }: TypedProps) {
  const value = list.filters[name] ?? "";
  // Said once: the field is left with what nothing was found for.
  const missed = useRef("");
  const look = async (text: string): Promise<void> => {
    missed.current = text;
    try {
      const found = await find?.(text);
      if (found === undefined)
        alertToast({ message: `There is no ${label.toLowerCase()} ${text}.`, requestId: undefined });
      else list.set({ [name]: found });
    } catch (error) {
      missed.current = "";
      alertToast(failureOf(error));
    }
  };
  const apply = (typed: string): void => {
    const text = typed.trim();
    if (find === undefined && text !== value) list.set({ [name]: text });
    else if (find !== undefined && text !== "" && text !== missed.current) void look(text);
  };
  return (
    <input
      key={value}
      className={style["filter"]}
      aria-label={label}
      placeholder={`${label}: ${example}`}
      spellCheck={false}
      autoComplete="off"
      // A value that was found is in its chip alone.
      defaultValue={find === undefined ? value : ""}
      onBlur={({ target }) => apply(target.value)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Enter") apply(currentTarget.value);
      }}
    />
  );
}

/** A day, in UTC as the service counts. */
function Day({ name, label, list }: { name: string; label: string; list: ListState }) {
  return (
    <label className={style["day"]}>
      {label}
      <input
        type="date"
        className={style["filter"]}
        value={list.filters[name] ?? ""}
        onChange={(event) => list.set({ [name]: event.target.value === "" ? undefined : event.target.value })}
      />
    </label>
  );
}

/** What is typed goes to the address when the person pauses. */
export function Search({ things, list }: { things: string; list: ListState }) {
  const [text, setText] = useState(list.q);
  useEffect(() => setText(list.q), [list.q]);
  useEffect(() => {
    if (text === list.q) return;
    const timer = setTimeout(() => list.set({ q: text === "" ? undefined : text }), 250);
    return () => clearTimeout(timer);
  }, [text, list]);
  return (
    <input
      type="search"
      className={style["search"]}
      aria-label={`Search ${things}`}
      placeholder={`Search ${things}`}
      data-page-search
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
