import { Fragment, useEffect, useId, useRef } from "react";
import type { ReactNode } from "react";
import { useSession } from "../session/use-session.ts";
import style from "./Page.module.css";

/** The heading that gets the focus after a change of the route. */
let focusNext = false;

/** Called by the router when the path changes. */
export function focusHeading(): void {
  focusNext = true;
}

/** Sets the title of the document: heading, organization, product. */
export function useTitle(title: string): void {
  const session = useSession();
  const org = session.status === "in" ? session.me.orgName : undefined;
  useEffect(() => {
    document.title = [title, org, "Atrium"].filter(Boolean).join(" · ");
  }, [title, org]);
}

/** The one `h1` of a page; it gets the focus when the page was reached by a link and puts it nowhere itself. */
export function Heading({ children }: { children: string }) {
  const ref = useRef<HTMLHeadingElement>(null);
  useTitle(children);
  useEffect(() => {
    if (!focusNext) return;
    focusNext = false;
    // A field that the page itself has put the focus in keeps it: a code is pasted there at once.
    const focused = document.activeElement;
    const isField = focused instanceof HTMLInputElement && ref.current?.closest("main")?.contains(focused) === true;
    if (!isField) ref.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  return (
    <h1 ref={ref} tabIndex={-1}>
      {children}
    </h1>
  );
}

interface PageProps {
  title: string;
  /** One sentence: what the page is for. */
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** The frame of every page of the console. */
export function Page({ title, about, actions, children }: PageProps) {
  return (
    <div className={style["page"]}>
      <div className={style["head"]}>
        <div className={style["title"]}>
          <Heading>{title}</Heading>
          {about !== undefined && <p>{about}</p>}
        </div>
        {actions !== undefined && <div className={style["actions"]}>{actions}</div>}
      </div>
      {children}
    </div>
  );
}

interface SectionProps {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A part of a page with a heading of the second level. */
export function Section({ title, about, actions, children }: SectionProps) {
  const id = useId();
  return (
    <section className={style["section"]} aria-labelledby={id}>
      <header>
        <div>
          <h2 id={id}>{title}</h2>
          {about !== undefined && <p>{about}</p>}
        </div>
        {actions !== undefined && <div className={style["actions"]}>{actions}</div>}
      </header>
      {children}
    </section>
  );
}

/** Names and values of one thing. */
export function Facts({ children }: { children: readonly (readonly [name: string, value: ReactNode] | false)[] }) {
  return (
    <dl className={style["facts"]}>
      {children.map(
        (row) =>
          row !== false && (
            <Fragment key={row[0]}>
              <dt>{row[0]}</dt>
              <dd>{row[1] ?? "–"}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}
