import { Link } from "@tanstack/react-router";
import style from "./Shell.module.css";

/** The name of the product, which leads to the start. */
export function Brand({ to = "/console" }: { to?: string }) {
  return (
    <Link to={to} className={style["brand"]} aria-label="Atrium">
      <span className={style["mark"]} aria-hidden />
      <span aria-hidden>Atrium</span>
    </Link>
  );
}
