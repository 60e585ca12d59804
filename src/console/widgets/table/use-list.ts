import { useNavigate, useSearch } from "@tanstack/react-router";

/** What the address says about a list: Back, reload and a shared link give the same rows. */
export interface ListState {
  readonly q: string;
  /** Field, with `-` before it for descending; empty: the service's own order. */
  readonly sort: string;
  /** From 1. */
  readonly page: number;
  /** Where the page begins, beyond the reach of offsets. */
  readonly cursor: string | undefined;
  readonly filters: Readonly<Record<string, string>>;
  /** Changes the address; `replace` keeps the entry of the history. */
  set(changes: Readonly<Record<string, string | undefined>>, replace?: boolean): void;
}

/** Reads `?q=&sort=&page=&cursor=` and the filters named from the address, and writes them there. */
export function useList(filterNames: readonly string[], defaultSort: string): ListState {
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const filters = Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = search[name];
      return value === undefined || value === "" ? [] : [[name, value]];
    }),
  );
  return {
    q: search["q"] ?? "",
    sort: search["sort"] ?? defaultSort,
    page: Math.max(1, Math.trunc(Number(search["page"] ?? 1)) || 1),
    cursor: search["cursor"],
    filters,
    set(changes, replace = false) {
      // Another list begins with its first page, and a cursor belongs to one page.
      const next = { ...search, ...("page" in changes ? {} : { page: undefined }), cursor: undefined, ...changes };
      const kept = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined && value !== ""));
      // Typing replaces the entry of the history, or Back would go letter by letter.
      void navigate({ to: ".", search: kept, replace: replace || "q" in changes });
    },
  };
}
