import { Minus, Plus } from "lucide-react";
import { useId } from "react";
import type { ReactNode } from "react";
import { Answer } from "../../widgets/States.tsx";
import { plural } from "../../widgets/words.ts";
import { diffOf } from "./permissions.ts";
import style from "./Roles.module.css";
import { useRolePermissions } from "./use-roles.ts";

/** What a change of permissions gives and takes. It is announced when it changes. */
export function Diff({ before, after }: { before: readonly string[]; after: readonly string[] }) {
  const { gained, lost, kept } = diffOf(before, after);
  return (
    <div className={style["diff"]} role="status">
      {gained.length + lost.length === 0 ? (
        <p>Nothing is gained or lost.</p>
      ) : (
        <>
          <Names title="Gained" kind="gained" names={gained} icon={<Plus size={13} aria-hidden />} />
          <Names title="Lost" kind="lost" names={lost} icon={<Minus size={13} aria-hidden />} />
        </>
      )}
      <p className={style["kept"]}>{plural(kept.length, "permission")} unchanged.</p>
    </div>
  );
}

interface NamesProps {
  title: string;
  kind: "gained" | "lost";
  names: readonly string[];
  icon: ReactNode;
}

function Names({ title, kind, names, icon }: NamesProps) {
  const id = useId();
  return (
    <div className={style["side"]} data-kind={kind}>
      <h3 id={id}>
        {title} ({names.length})
      </h3>
      {names.length === 0 ? (
        <p>Nothing</p>
      ) : (
        <ul aria-labelledby={id} tabIndex={0}>
          {names.map((name) => (
            <li key={name}>
              {icon}
              <code>{name}</code>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** What a member gains and loses when their role changes from one to another. */
export function RoleDiff({ from, to }: { from: number; to: number }) {
  const before = useRolePermissions(from);
  const after = useRolePermissions(to);
  return (
    <Answer of={before} lines={2}>
      {({ data: had }) => (
        <Answer of={after} lines={2}>
          {({ data: has }) => <Diff before={had.map(({ name }) => name)} after={has.map(({ name }) => name)} />}
        </Answer>
      )}
    </Answer>
  );
}
