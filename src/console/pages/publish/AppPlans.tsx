import { equals } from "@bufbuild/protobuf";
import { useState } from "react";
import { PlanSchema } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import type { App, Plan } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { changedMeanwhile, failureOf } from "../../session/failures.ts";
import type { Failure } from "../../session/failures.ts";
import { queries } from "../../session/session.ts";
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
import { ownApp } from "./use-own-app.ts";

type Present = { plans: readonly Plan[]; failure?: undefined } | { plans?: undefined; failure: Failure };

/**
 * The plans of an app as they are now: a change replaces all of them, and others may have changed some since the page
 * read them. Fails when the one that is changed is not as the caller saw it.
 */
async function presentPlans(appId: string, seen?: Plan): Promise<Present> {
  try {
    const plans = (await ownApp(appId))?.plans ?? [];
    const now = plans.find(({ planId }) => planId === seen?.planId);
    if (seen === undefined || (now !== undefined && equals(PlanSchema, now, seen))) return { plans };
    void queries.invalidateQueries();
    return { failure: changedMeanwhile("plan") };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** What can be bought of an app. */
export function AppPlans({ app }: { app: App }) {
  const { appId, plans, currency } = app;
  const [edited, setEdited] = useState<Plan | "new">();
  const [removed, setRemoved] = useState<Plan>();
  const [failure, setFailure] = useState<Failure>();
  const update = useCall(PublisherService.method.updateApp, { done: "Plan removed" });
  const clear = (): void => {
    setFailure(undefined);
    update.clear();
  };
  const remove = async (): Promise<App | undefined> => {
    const present = await presentPlans(appId, removed);
    setFailure(present.failure);
    return present.plans && update.run({ appId, plans: present.plans.filter((one) => one.planId !== removed?.planId) });
  };
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
        call={{ busy: update.busy, failure: failure ?? update.failure, clear }}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() => void remove().then((done) => done && setRemoved(undefined))}
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
  const [failure, setFailure] = useState<Failure>();
  const call = useCall(PublisherService.method.updateApp, {
    done: "Plan saved",
    onFailure: (failure) => form.place({ ...failure, fields: ofPlan(failure.fields) }),
  });
  return (
    <Dialog title={of === undefined ? "Create plan" : `Edit ${of.name}`} open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (plan) => {
          const present = await presentPlans(app.appId, of);
          setFailure(present.failure);
          if (present.plans === undefined) return;
          const plans =
            of === undefined
              ? [...present.plans, plan]
              : present.plans.map((one) => (one.planId === of.planId ? plan : one));
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
        <SubmitActions
          call={{ busy: call.busy, failure: failure ?? call.failure }}
          verb={of === undefined ? "Create" : "Save"}
          onCancel={onClose}
        />
      </FormBody>
    </Dialog>
  );
}

/** Violations of an app's plans by the fields of a plan: `plans[1].price_cents` is of `price_cents`. */
const ofPlan = (fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([name, words]) => [name.replace(/^plans\[\d+\]\./u, ""), words]));
