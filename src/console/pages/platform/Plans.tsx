import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { SetPlanRequestSchema } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import type { Plan } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Input } from "../../widgets/form/Field.tsx";
import { listError } from "../../widgets/form/scope.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Page, Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useCall } from "../../widgets/use-call.ts";

/** The plans that organizations can have, and the entitlements of each. */
export default function Plans() {
  const plans = useQuery(BillingService.method.listPlans, {});
  const [edited, setEdited] = useState<Plan | "new">();
  return (
    <Page
      title="Plans"
      about="What an organization can have. Its members carry the entitlements of its plan in their tokens."
      actions={
        <Button look="primary" data-create onClick={() => setEdited("new")}>
          Create plan
        </Button>
      }
    >
      <Section title="All plans">
        <Answer of={plans}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty text="There is no plan." api="PUT /api/admin/plans/{plan}" />
            ) : (
              <Rows
                caption="Plans"
                rows={data}
                rowKey={({ plan }) => plan}
                columns={[
                  { header: "Plan", cell: ({ plan }) => <code>{plan}</code> },
                  { header: "Name", cell: ({ name }) => name },
                  {
                    header: "Entitlements",
                    cell: ({ features }) => (features.length === 0 ? "None" : features.join(", ")),
                  },
                ]}
                actions={(plan) => (
                  <Button small title={plan.name} onClick={() => setEdited(plan)}>
                    Edit
                  </Button>
                )}
              />
            )
          }
        </Answer>
      </Section>
      <CodeSample http="GET /api/admin/plans" />
      {edited !== undefined && (
        <EditPlan of={edited === "new" ? undefined : edited} onClose={() => setEdited(undefined)} />
      )}
    </Page>
  );
}

function EditPlan({ of, onClose }: { of: Plan | undefined; onClose: () => void }) {
  const form = useForm(SetPlanRequestSchema, { plan: of?.plan ?? "", name: of?.name ?? "" });
  const first = of?.features.join(", ") ?? "";
  const [features, setFeatures] = useState(first);
  const call = useCall(BillingService.method.setPlan, { done: "Plan saved" });
  const list = features.split(/[\s,]+/u).filter((feature) => feature !== "");
  return (
    <Dialog
      title={of === undefined ? "Create plan" : `Edit ${of.name}`}
      open
      dirty={form.changed || features !== first}
      onClose={onClose}
    >
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          if ((await call.run({ ...values, features: [...new Set(list)] })) !== undefined) onClose();
        })}
      >
        <Field
          form={form}
          name="plan"
          hint="Small letters, digits, dashes and underscores"
          disabled={of !== undefined}
        />
        <Field form={form} name="name" />
        <Input
          label="Features"
          value={features}
          onChange={setFeatures}
          hint="What its organizations are entitled to, separated by commas: sso, audit_export"
          error={listError(call.failure, "features")}
        />
        <ShowAsCode
          http={`PUT /api/admin/plans/${form.values.plan || "pro"}`}
          body={{ name: form.values.name, features: list }}
        />
        <SubmitActions call={call} verb={of === undefined ? "Create" : "Save"} onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
