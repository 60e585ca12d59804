import type { ReactNode } from "react";
import { Brand } from "../shell/Brand.tsx";
import { Heading } from "../widgets/Page.tsx";
import style from "./Door.module.css";

interface DoorProps {
  title: string;
  about?: ReactNode;
  /** Below the card. */
  foot?: ReactNode;
  children?: ReactNode;
}

/** The frame of the pages for those who are not signed in. */
export function Door({ title, about, foot, children }: DoorProps) {
  return (
    <div className={style["door"]}>
      <header>
        <Brand to="/" />
      </header>
      <main id="main" className={style["card"]}>
        <div className={style["head"]}>
          <Heading>{title}</Heading>
          {about !== undefined && <p>{about}</p>}
        </div>
        {children}
      </main>
      {foot !== undefined && <footer className={style["foot"]}>{foot}</footer>}
    </div>
  );
}

/** A line with "or" between two ways in. */
export const Or = () => <div className={style["or"]}>or</div>;

export const doorStyle = style;
