import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { Check, FieldError } from "../../widgets/form/Field.tsx";
import { rulesOf } from "../../widgets/form/rules.ts";
import style from "./Webhooks.module.css";

interface EventsProps {
  /** Request whose field `events` has the types that exist. */
  schema: DescMessage;
  chosen: readonly string[];
  onChange: (events: string[]) => void;
  error: string | undefined;
}

/** Event types to choose from; `*` stands for all, those to come included. */
export function Events({ schema, chosen, onChange, error }: EventsProps) {
  const types = (rulesOf(schema.field["events"] as DescField)?.in ?? []).filter((type) => type !== "*");
  const all = chosen.includes("*");
  return (
    <fieldset className={style["events"]}>
      <legend>Events</legend>
      <Check label="All events" checked={all} onChange={(on) => onChange(on ? ["*"] : [])} />
      {!all &&
        types.map((type) => (
          <Check
            key={type}
            label={type}
            checked={chosen.includes(type)}
            onChange={(on) => onChange(on ? [...chosen, type] : chosen.filter((other) => other !== type))}
          />
        ))}
      {error !== undefined && <FieldError role="alert">{error}</FieldError>}
    </fieldset>
  );
}
