import { useState } from "react";
import { PlanSchema } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import type { App, Plan } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm, Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Section } from "../../widgets/Page.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { money } from "../apps/money.ts";

/** What can be bought of an app. */
export function AppPlans({ app }: { app: App }) {
  const { appId, plans, currency } = app;
  const [edited, setEdited] = useState<Plan | "new">();
  const [removed, setRemoved] = useState<Plan>();
  const update = useCall(PublisherService.method.updateApp, { done: "Plan removed" });
  return (
    <>
      <Section
        title="Plans"
        about="The first is the default. Installs keep the price that they bought."
        actions={<Button onClick={() => setEdited("new")}>Create plan</Button>}
      >
        <Rows
          caption="Plans"
          rows={plans}
          rowKey={({ planId }) => planId}
          columns={[
            { header: "Plan id", cell: ({ planId }) => <code>{planId}</code> },
            { header: "Name", cell: ({ name }) => name },
            { header: "Price", cell: ({ priceCents }) => money(priceCents, currency), right: true },
            { header: "Interval", cell: ({ interval }) => inWords(interval) },
          ]}
          actions={(plan) => (
            <>
              <Button small title={plan.name} onClick={() => setEdited(plan)}>
                Edit
              </Button>
              {plans.length > 1 && (
                <Button small title={plan.name} onClick={() => setRemoved(plan)}>
                  Remove
                </Button>
              )}
            </>
          )}
        />
      </Section>
      <CodeSample
        http={`PATCH /api/marketplace/apps/${appId}`}
        body={{
          plans: plans.map(({ planId, name, priceCents, interval }) => ({
            plan_id: planId,
            name,
            price_cents: priceCents,
            interval,
          })),
        }}
      />
      {edited !== undefined && (
        <EditPlan app={app} of={edited === "new" ? undefined : edited} onClose={() => setEdited(undefined)} />
      )}
      <Confirm
        title={`Remove ${removed?.name ?? "the plan"}?`}
        about="Nobody can buy it any more. Installs that have it keep it."
        verb="Remove"
        open={removed !== undefined}
        call={update}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() =>
          void update
            .run({ appId, plans: plans.filter(({ planId }) => planId !== removed?.planId) })
            .then((done) => done && setRemoved(undefined))
        }
      />
    </>
  );
}

function EditPlan({ app, of, onClose }: { app: App; of: Plan | undefined; onClose: () => void }) {
  const form = useForm(PlanSchema, {
    planId: of?.planId ?? "",
    name: of?.name ?? "",
    priceCents: of?.priceCents ?? 0,
    interval: of?.interval ?? "month",
  });
  const call = useCall(PublisherService.method.updateApp, {
    done: "Plan saved",
    onFailure: (failure) => form.place({ ...failure, fields: ofPlan(failure.fields) }),
  });
  return (
    <Dialog title={of === undefined ? "Create plan" : `Edit ${of.name}`} open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (plan) => {
          const plans =
            of === undefined ? [...app.plans, plan] : app.plans.map((one) => (one.planId === of.planId ? plan : one));
          if ((await call.run({ appId: app.appId, plans })) !== undefined) onClose();
        })}
      >
        <Field form={form} name="planId" disabled={of !== undefined} />
        <Field form={form} name="name" />
        <Field form={form} name="priceCents" hint="In minor units: 1900 is 19.00" />
        <Select
          label="Interval"
          value={form.values.interval ?? "month"}
          onChange={(interval) => form.set({ interval })}
          options={[
            ["month", "Month"],
            ["year", "Year"],
            ["once", "Once"],
          ]}
        />
        <SubmitActions call={call} verb={of === undefined ? "Create" : "Save"} onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}

/** Violations of an app's plans by the fields of a plan: `plans[1].price_cents` is of `price_cents`. */
const ofPlan = (fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([name, words]) => [name.replace(/^plans\[\d+\]\./u, ""), words]));
