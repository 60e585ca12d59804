import { useState } from "react";
import {
  CreateVariableRequestSchema,
  TemplatesService,
  UpdateVariableRequestSchema,
} from "../../../../gen/atrium/templates/v1/templates_pb.ts";
import type { Variable } from "../../../../gen/atrium/templates/v1/templates_pb.ts";
import { holds } from "../../powers.ts";
import { useMe } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Confirm, Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Input, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";

const SCOPES = [
  ["global", "Organization"],
  ["user", "Own"],
] as const;

/** Values that fill placeholders where a call gives none. */
export default function Variables() {
  const isAdmin = holds(useMe(), "admin");
  const [edited, setEdited] = useState<Variable | "new">();
  const [removed, setRemoved] = useState<Variable>();
  const remove = useCall(TemplatesService.method.deleteVariable, { done: "Variable deleted" });
  return (
    <Page
      title="Variables"
      about="They fill placeholders where a call gives no value. Your own win over those of the organization."
      actions={
        <Button look="primary" data-create onClick={() => setEdited("new")}>
          Create variable
        </Button>
      }
    >
      <DataTable
        caption="Variables"
        things="variables"
        method={TemplatesService.method.listVariables}
        rowKey={({ id }) => String(id)}
        filters={[{ name: "scope", label: "Scope", values: SCOPES }]}
        columns={[
          { header: "Key", cell: ({ key }) => <code>{key}</code>, csv: ({ key }) => key, sort: "key" },
          { header: "Value", cell: ({ value }) => value, csv: ({ value }) => value },
          {
            header: "Scope",
            cell: ({ scope }) => SCOPES.find(([value]) => value === scope)?.[1],
            csv: ({ scope }) => scope,
          },
        ]}
        actions={(variable) =>
          (isAdmin || variable.scope === "user") && (
            <>
              <Button small title={variable.key} onClick={() => setEdited(variable)}>
                Edit
              </Button>
              <Button small title={variable.key} onClick={() => setRemoved(variable)}>
                Delete
              </Button>
            </>
          )
        }
        empty={{ text: "There is no variable yet.", api: "POST /api/ops/custom-variables" }}
      />
      <CodeSample http="GET /api/ops/custom-variables" />
      {edited === "new" && <Create isAdmin={isAdmin} onClose={() => setEdited(undefined)} />}
      {edited !== undefined && edited !== "new" && <Edit variable={edited} onClose={() => setEdited(undefined)} />}
      <Confirm
        title={`Delete ${removed?.key ?? "the variable"}?`}
        about="Templates with a placeholder of this name need a value in each call from then on."
        verb="Delete"
        open={removed !== undefined}
        call={remove}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() => void remove.run({ id: removed?.id ?? 0 }).then((done) => done && setRemoved(undefined))}
      />
    </Page>
  );
}

function Create({ isAdmin, onClose }: { isAdmin: boolean; onClose: () => void }) {
  const form = useForm(CreateVariableRequestSchema, { key: "", scope: isAdmin ? "global" : "user" });
  // A value may be empty, which the rule "required" of the form does not know.
  const [value, setValue] = useState("");
  const call = useCall(TemplatesService.method.createVariable, { done: "Variable created" });
  return (
    <Dialog title="Create variable" open dirty={form.changed || value !== ""} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          if ((await call.run({ ...values, value })) !== undefined) onClose();
        })}
      >
        <Field form={form} name="key" hint="Letters, digits, dots, dashes and underscores: company.name" />
        <Input label="Value" value={value} onChange={setValue} />
        {isAdmin && (
          <Select
            label="Scope"
            value={String(form.values.scope)}
            onChange={(scope) => form.set({ scope })}
            options={SCOPES}
          />
        )}
        <ShowAsCode http="POST /api/ops/custom-variables" body={{ ...bodyOf(form.values), value }} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}

function Edit({ variable, onClose }: { variable: Variable; onClose: () => void }) {
  const form = useForm(UpdateVariableRequestSchema, { id: variable.id, key: variable.key });
  const [value, setValue] = useState(variable.value);
  const call = useCall(TemplatesService.method.updateVariable, { done: "Variable saved" });
  return (
    <Dialog title={`Edit ${variable.key}`} open dirty={form.changed || value !== variable.value} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async () => {
          if ((await call.run({ id: variable.id, ...form.changes, value })) !== undefined) onClose();
        })}
      >
        <Field form={form} name="key" />
        <Input label="Value" value={value} onChange={setValue} />
        <SubmitActions call={call} verb="Save" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
