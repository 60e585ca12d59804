import type { JsonValue } from "@bufbuild/protobuf";
import style from "./Audit.module.css";

/** A JSON value as nested lists of names and values. */
export function Tree({ of: value }: { of: JsonValue }) {
  if (value === null || typeof value !== "object")
    return <span className={style["leaf"]}>{value === "" ? "(empty)" : String(value)}</span>;
  const entries = Object.entries(value);
  if (entries.length === 0) return <span className={style["leaf"]}>(none)</span>;
  return (
    <ul className={style["tree"]}>
      {entries.map(([name, inner]) => (
        <li key={name}>
          <span className={style["name"]}>{Array.isArray(value) ? `${Number(name) + 1}.` : name}</span>{" "}
          <Tree of={inner} />
        </li>
      ))}
    </ul>
  );
}
