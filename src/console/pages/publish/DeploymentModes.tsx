import { useId } from "react";
import { Check, FieldError } from "../../widgets/form/Field.tsx";
import type { AnyForm } from "../../widgets/form/use-form.ts";
import { inWords } from "../../widgets/words.ts";

const MODES = ["multi_tenant", "single_tenant"];

/** How an app can be deployed: one mode or more. */
export function DeploymentModes({ form }: { form: AnyForm }) {
  const id = useId();
  const modes = form.values["deploymentModes"] as readonly string[];
  const error = form.errors["deploymentModes"];
  return (
    <fieldset>
      <legend>Deployment modes</legend>
      {MODES.map((mode) => (
        <Check
          key={mode}
          label={inWords(mode)}
          checked={modes.includes(mode)}
          onChange={(on) =>
            form.set({ deploymentModes: on ? [...modes, mode] : modes.filter((other) => other !== mode) })
          }
          aria-invalid={error !== undefined || undefined}
          aria-describedby={error === undefined ? undefined : id}
        />
      ))}
      {error !== undefined && <FieldError id={id}>{error}</FieldError>}
    </fieldset>
  );
}
