import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { CreateTemplateRequestSchema, TemplatesService } from "../../../../gen/atrium/templates/v1/templates_pb.ts";
import { Button, ButtonLink } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { Cv } from "./Cv.tsx";

/** What a template can be for, with words. */
export const CATEGORIES = [
  ["email", "Email"],
  ["cv", "Curriculum vitae"],
  ["proposal", "Proposal"],
  ["report", "Report"],
] as const;

const START = "<!doctype html>\n<h1>Dear {{first_name}}</h1>\n<p>Write here.</p>\n";

/** The document templates of the organization. */
export default function Templates() {
  const [open, setOpen] = useState<"create" | "cv">();
  const close = (): void => setOpen(undefined);
  return (
    <Page
      title="Templates"
      about="HTML documents with placeholders. A value can never change the structure of a document."
      actions={
        <>
          <Button look="primary" data-create onClick={() => setOpen("create")}>
            Create template
          </Button>
          <ButtonLink to="/console/variables">Variables</ButtonLink>
          <Button onClick={() => setOpen("cv")}>Curriculum vitae</Button>
        </>
      }
    >
      <DataTable
        caption="Templates"
        things="templates"
        method={TemplatesService.method.listTemplates}
        rowKey={({ id }) => id}
        filters={[{ name: "category", label: "Category", values: CATEGORIES }]}
        columns={[
          {
            header: "Name",
            cell: ({ id, name }) => <Link to={`/console/templates/${id}`}>{name}</Link>,
            csv: ({ name }) => name,
            sort: "name",
          },
          {
            header: "Category",
            cell: ({ category }) => CATEGORIES.find(([value]) => value === category)?.[1] ?? inWords(category),
            csv: ({ category }) => category,
          },
          {
            header: "Placeholders",
            cell: ({ variables }) => variables.length,
            csv: ({ variables }) => variables.join(" "),
            right: true,
          },
          { header: "Created", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        empty={{ text: "There is no template yet.", api: "POST /api/templates" }}
      />
      <CodeSample http="GET /api/templates" />
      {open === "create" && <Create onClose={close} />}
      {open === "cv" && <Cv onClose={close} />}
    </Page>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const form = useForm(CreateTemplateRequestSchema, { name: "", category: "email", variables: [], body: START });
  const call = useCall(TemplatesService.method.createTemplate, { done: "Template created" });
  return (
    <Dialog title="Create template" open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          const made = await call.run(values);
          if (made !== undefined) void navigate({ to: `/console/templates/${made.id}`, ignoreBlocker: true });
        })}
      >
        <Field form={form} name="name" />
        <Select
          label="Category"
          value={String(form.values.category)}
          onChange={(category) => form.set({ category })}
          options={CATEGORIES}
        />
        <ShowAsCode http="POST /api/templates" body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
