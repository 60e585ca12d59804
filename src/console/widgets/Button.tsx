import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ComponentProps, ReactNode } from "react";
import style from "./Button.module.css";
import { classes } from "./words.ts";

export interface ButtonLook {
  look?: "primary" | "secondary" | "quiet" | "danger";
  small?: boolean;
  wide?: boolean;
}

const classesOf = ({ look = "secondary", small = false, wide = false }: ButtonLook): string =>
  classes(style["button"], style[look], small && style["small"], wide && style["wide"]);

type ButtonProps = ComponentProps<"button"> & ButtonLook & { busy?: boolean | undefined };

/**
 * A button; while `busy` it keeps its name and focus and does nothing. One that is disabled while it has the focus
 * keeps that too, until the person goes on: the keyboard would lose its place.
 */
export function Button(props: ButtonProps) {
  const {
    look,
    small,
    wide,
    busy = false,
    disabled = false,
    children,
    className,
    onClick,
    onFocus,
    onBlur,
    ...rest
  } = props;
  const [hasFocus, setHasFocus] = useState(false);
  return (
    <button
      type="button"
      {...rest}
      className={classes(classesOf({ ...(look && { look }), small: small ?? false, wide: wide ?? false }), className)}
      disabled={disabled && !hasFocus}
      aria-disabled={busy || (disabled && hasFocus) || undefined}
      onFocus={(event) => {
        setHasFocus(true);
        onFocus?.(event);
      }}
      onBlur={(event) => {
        // It stays the active element where the whole window loses the focus.
        setHasFocus(document.activeElement === event.currentTarget);
        onBlur?.(event);
      }}
      onClick={busy || disabled ? (event) => event.preventDefault() : onClick}
    >
      {busy && <span className={style["spinner"]} aria-hidden />}
      {children}
    </button>
  );
}

/** A link to another site that looks like a button. That site is not told where the person comes from. */
export const ButtonAnchor = ({ href, children, ...look }: ButtonLook & { href: string; children: ReactNode }) => (
  <a href={href} rel="noreferrer" className={classesOf(look)}>
    {children}
  </a>
);

interface ButtonLinkProps extends ButtonLook {
  to: string;
  /** Query of the address. */
  search?: Readonly<Record<string, string>>;
  children: ReactNode;
}

/** A link of the console that looks like a button. */
export function ButtonLink({ to, search, children, ...look }: ButtonLinkProps) {
  return (
    <Link to={to} {...(search !== undefined && { search })} className={classesOf(look)}>
      {children}
    </Link>
  );
}
