import { Check as Tick, Minus } from "lucide-react";
import type { Permission } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { Check } from "../../widgets/form/Field.tsx";
import { inWords } from "../../widgets/words.ts";
import { byResource } from "./permissions.ts";
import style from "./Roles.module.css";

interface ChecksProps {
  catalogue: readonly Permission[];
  chosen: ReadonlySet<number>;
  onChange: (chosen: ReadonlySet<number>) => void;
}

/** Every permission of the catalogue as a checkbox, by resource. */
export function PermissionChecks({ catalogue, chosen, onChange }: ChecksProps) {
  const toggle = (id: number, on: boolean): void => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    onChange(next);
  };
  return (
    <div className={style["groups"]}>
      {byResource(catalogue).map(([resource, permissions]) => (
        <fieldset key={resource} className={style["group"]}>
          <legend>{inWords(resource)}</legend>
          {permissions.map(({ id, name }) => (
            <Check key={id} label={name} checked={chosen.has(id)} onChange={(on) => toggle(id, on)} />
          ))}
        </fieldset>
      ))}
    </div>
  );
}

/** The permissions of one role among all that there are. */
export function PermissionList({ catalogue, held }: { catalogue: readonly Permission[]; held: ReadonlySet<string> }) {
  return (
    <div className={style["groups"]}>
      {byResource(catalogue).map(([resource, permissions]) => (
        <div key={resource} className={style["group"]}>
          <h3>{inWords(resource)}</h3>
          <ul aria-label={inWords(resource)}>
            {permissions.map(({ id, name }) => (
              <li key={id} data-held={held.has(name)}>
                {held.has(name) ? (
                  <Tick size={14} aria-label="granted" />
                ) : (
                  <Minus size={14} aria-label="not granted" />
                )}
                <code>{name}</code>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </div>
  );
}
