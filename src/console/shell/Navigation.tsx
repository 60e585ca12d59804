import { Link, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { GROUPS } from "../page-row.ts";
import { PAGES } from "../pages.ts";
import { holds } from "../powers.ts";
import { useMe } from "../session/use-session.ts";
import style from "./Shell.module.css";

/** Links to the pages that the caller can use. */
export function Navigation({ open, onGo }: { open: boolean; onGo: () => void }) {
  const me = useMe();
  const nav = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  // The list is longer than most windows: the link to the page that is open is scrolled into sight.
  useEffect(() => {
    nav.current?.querySelector('[aria-current="page"]')?.scrollIntoView({ block: "nearest" });
  }, [path]);
  return (
    <nav ref={nav} className={style["side"]} aria-label="Main" id="navigation" data-open={open || undefined}>
      {GROUPS.map((group) => {
        const pages = PAGES.filter(({ nav, needs }) => nav?.group === group && holds(me, needs));
        if (pages.length === 0) return null;
        return (
          <div key={group} className={style["group"]}>
            {group !== "" && <div>{group}</div>}
            <ul>
              {pages.map(({ path, nav }) => {
                const Icon = nav?.icon;
                return (
                  <li key={path}>
                    <Link
                      to={path === "" ? "/console" : `/console/${path}`}
                      className={style["link"]}
                      activeOptions={{ exact: path === "" || path === "me", includeSearch: false }}
                      onClick={onGo}
                    >
                      {Icon !== undefined && <Icon size={16} aria-hidden />}
                      {nav?.label}
                    </Link>
                  </li>
                );
              })}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}
