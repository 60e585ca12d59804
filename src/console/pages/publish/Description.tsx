import { TextArea } from "../../widgets/form/Field.tsx";
import type { AnyForm } from "../../widgets/form/use-form.ts";

/** What an app does, in paragraphs. */
export function Description({ form }: { form: AnyForm }) {
  const description = form.values["description"] as string | undefined;
  return (
    <TextArea
      label="Description"
      name="description"
      value={description ?? ""}
      onChange={(next) => form.set({ description: next })}
      error={form.errors["description"]}
    />
  );
}
