import { useQuery } from "@connectrpc/connect-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { TemplatesService } from "../../../../gen/atrium/templates/v1/templates_pb.ts";
import type { Template as TemplateRecord } from "../../../../gen/atrium/templates/v1/templates_pb.ts";
import type { Failure } from "../../session/failures.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Input, Select } from "../../widgets/form/Field.tsx";
import { FormScope } from "../../widgets/form/scope.tsx";
import { useTyped } from "../../widgets/form/use-typed.ts";
import { useGuard } from "../../widgets/guard.ts";
import { FailureNotice, Notice } from "../../widgets/Notice.tsx";
import { Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { download } from "../../widgets/table/csv.ts";
import { useEvery } from "../../widgets/table/use-every.ts";
import { useCall } from "../../widgets/use-call.ts";
import { BodyEditor } from "./BodyEditor.tsx";
import { filled, namesIn } from "./placeholders.ts";
import { Preview } from "./Preview.tsx";
import { CATEGORIES } from "./Templates.tsx";
import style from "./Templates.module.css";
import { conflictOf, textsOf } from "./texts.ts";

/** The editor of one template. */
export default function Template() {
  const { template: id = "" }: { template?: string } = useParams({ strict: false });
  const answer = useQuery(TemplatesService.method.getTemplate, { id });
  if (answer.data === undefined)
    return (
      <Page title="Template">
        <Answer of={answer} backLink={["/console/templates", "Go to the templates"]}>
          {() => null}
        </Answer>
      </Page>
    );
  return <Editor template={answer.data} />;
}

function Editor({ template }: { template: TemplateRecord }) {
  const { id } = template;
  const navigate = useNavigate();
  const typed = useTyped(template, textsOf);
  const [conflict, setConflict] = useState<Failure>();
  const { name, category, body } = typed.values;
  const [samples, setSamples] = useState<Readonly<Record<string, string>>>({});
  const [rendered, setRendered] = useState<string>();
  const [asking, setAsking] = useState(false);
  const stored = useEvery({ method: TemplatesService.method.listVariables });
  const save = useCall(TemplatesService.method.updateTemplate, { done: "Template saved" });
  const render = useCall(TemplatesService.method.renderTemplate, { done: "Document rendered" });
  const remove = useCall(TemplatesService.method.deleteTemplate, { done: "Template deleted" });
  const isChanged = typed.changed;
  useGuard(isChanged);
  const names = [...new Set([...namesIn(body), ...(body === "" ? template.variables : [])])];
  // A person's own variable wins over a global one of the same name.
  const variables = new Map(
    (stored.data?.data ?? [])
      .toSorted((a, b) => a.scope.localeCompare(b.scope))
      .map(({ key, value }) => [key, value] as const),
  );
  const given = (of: string): string | undefined => (samples[of] === "" ? undefined : samples[of]);
  const missing = names.filter((one) => given(one) === undefined && !variables.has(one));
  const store = async (): Promise<void> => {
    const { base, changes, values } = typed;
    const found = await conflictOf(id, base, changes);
    setConflict(found);
    if (found === undefined && (await save.run({ id, ...changes })) !== undefined) typed.saved(values);
  };
  const failure = conflict ?? save.failure;
  const run = async (): Promise<void> => {
    const values = Object.fromEntries(names.flatMap((one) => (given(one) === undefined ? [] : [[one, samples[one]]])));
    const answer = await render.run({ templateId: id, variables: values as Record<string, string> });
    setRendered(answer?.html);
  };
  return (
    <Page
      title={template.name}
      about={<Id of={id} what="template id" />}
      actions={
        <>
          <Button look="primary" busy={save.busy} disabled={!isChanged} onClick={() => void store()}>
            Save
          </Button>
          <Button onClick={() => setAsking(true)}>Delete</Button>
        </>
      }
    >
      <FormScope>
        {failure !== undefined && <FailureNotice failure={failure} />}
        <div className={style["columns"]}>
          <Section title="Template" about="A name in two braces, such as {{first_name}}, is a placeholder.">
            <Input
              label="Name"
              value={name}
              onChange={(next) => typed.set({ name: next })}
              maxLength={200}
              error={failure?.fields["name"]}
            />
            <Select
              label="Category"
              value={category}
              onChange={(next) => typed.set({ category: next })}
              options={CATEGORIES}
            />
            <BodyEditor value={body} onChange={(next) => typed.set({ body: next })} />
          </Section>
          <Section title="Preview" about="With the sample values below. It runs no script and loads nothing.">
            <Preview html={filled(body, (one) => given(one) ?? variables.get(one))} />
          </Section>
        </div>
      </FormScope>
      <Section
        title="Sample values"
        about="They fill the preview and the rendered document, and are not stored."
        actions={
          <Button busy={render.busy} disabled={isChanged} onClick={() => void run()}>
            Render
          </Button>
        }
      >
        {isChanged && <p>Save the template to render it.</p>}
        {render.failure !== undefined && <FailureNotice failure={render.failure} />}
        {missing.length > 0 && (
          <Notice kind="warn">
            Without a value: {missing.map((one) => `{{${one}}}`).join(", ")}. A document is rendered when all have one.
          </Notice>
        )}
        {names.length === 0 ? (
          <p>The template has no placeholder.</p>
        ) : (
          <div className={style["samples"]}>
            {names.map((one) => (
              <Input
                key={one}
                label={one}
                value={samples[one] ?? ""}
                onChange={(value) => setSamples((before) => ({ ...before, [one]: value }))}
                placeholder={variables.get(one)}
                autoComplete="off"
                {...(variables.has(one) && { hint: "Filled by the variable of this name." })}
              />
            ))}
          </div>
        )}
        {rendered !== undefined && (
          <>
            <div>
              <Button onClick={() => download(`${template.name}.html`, "text/html;charset=utf-8", rendered)}>
                Download
              </Button>
            </div>
            <Preview html={rendered} title="Rendered document" />
          </>
        )}
      </Section>
      <CodeSample
        http="POST /api/templates/render"
        body={{ template_id: id, variables: Object.fromEntries(names.map((one) => [one, samples[one] ?? ""])) }}
      />
      <Confirm
        title={`Delete ${template.name}?`}
        about="Services that render it get 404 from then on."
        verb="Delete"
        typed={template.name}
        open={asking}
        call={remove}
        onCancel={() => setAsking(false)}
        onConfirm={() =>
          void remove
            .run({ id })
            .then((done) => done && void navigate({ to: "/console/templates", ignoreBlocker: true }))
        }
      />
    </Page>
  );
}
