import { useState } from "react";
import type { App, Plan } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm, Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { FormBody, Input, Select } from "../../widgets/form/Field.tsx";
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
  const first = {
    planId: of?.planId ?? "",
    name: of?.name ?? "",
    price: String(of?.priceCents ?? 0),
    interval: of?.interval ?? "month",
  };
  const [plan, setPlan] = useState(first);
  const call = useCall(PublisherService.method.updateApp, { done: "Plan saved" });
  const faults = Object.entries(call.failure?.fields ?? {});
  const faultOf = (field: string): string | undefined => faults.find(([name]) => name.endsWith(field))?.[1];
  const isChanged = JSON.stringify(plan) !== JSON.stringify(first);
  return (
    <Dialog title={of === undefined ? "Create plan" : `Edit ${of.name}`} open dirty={isChanged} onClose={onClose}>
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          const { planId, name, price, interval } = plan;
          const written = { planId, name, priceCents: Math.max(0, Math.trunc(Number(price) || 0)), interval };
          const plans =
            of === undefined
              ? [...app.plans, written]
              : app.plans.map((one) => (one.planId === of.planId ? written : one));
          void call.run({ appId: app.appId, plans }).then((done) => done && onClose());
        }}
      >
        <Input
          label="Plan id"
          value={plan.planId}
          onChange={(planId) => setPlan({ ...plan, planId })}
          disabled={of !== undefined}
          error={faultOf("plan_id")}
        />
        <Input label="Name" value={plan.name} onChange={(name) => setPlan({ ...plan, name })} error={faultOf("name")} />
        <Input
          label="Price cents"
          hint="In minor units: 1900 is 19.00"
          type="number"
          min={0}
          value={plan.price}
          onChange={(price) => setPlan({ ...plan, price })}
          error={faultOf("price_cents")}
        />
        <Select
          label="Interval"
          value={plan.interval}
          onChange={(interval) => setPlan({ ...plan, interval })}
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
