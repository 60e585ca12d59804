import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { CreateMeterRequestSchema } from "../../../../gen/atrium/billing/v1/metering_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { MeterChart } from "./MeterChart.tsx";
import { useCall } from "../../widgets/use-call.ts";

/** What the organization has used, by day. */
export function Meters() {
  const meters = useQuery(BillingService.method.listMeters, { limit: 200, sort: "name" });
  const [creating, setCreating] = useState(false);
  return (
    <>
      <Section
        title="Meters"
        about="A meter counts events that your services report."
        actions={<Button onClick={() => setCreating(true)}>Create meter</Button>}
      >
        <Answer of={meters} lines={2}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty text="Nothing is metered yet." api="POST /api/billing/metering/meters" />
            ) : (
              <ul>
                {data.map(({ id, name, eventName, aggregation }) => (
                  <li key={id}>
                    {name}: {aggregation} of <code>{eventName}</code>
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Section>
      {meters.data?.data.map((meter) => (
        <MeterChart key={meter.id} meter={meter} />
      ))}
      {creating && <CreateMeter onClose={() => setCreating(false)} />}
    </>
  );
}

function CreateMeter({ onClose }: { onClose: () => void }) {
  const form = useForm(CreateMeterRequestSchema, { name: "", eventName: "", unit: "", aggregation: "sum" });
  const call = useCall(BillingService.method.createMeter, { done: "Meter created" });
  return (
    <Dialog title="Create meter" open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          if ((await call.run(values)) !== undefined) onClose();
        })}
      >
        <Field form={form} name="name" />
        <Field form={form} name="eventName" hint="Events are reported by this name, such as api.calls." />
        <Field form={form} name="unit" hint="What a value of 1 is: call, GB, minute." />
        <Select
          label="Aggregation"
          value={String(form.values.aggregation)}
          onChange={(aggregation) => form.set({ aggregation })}
          options={[
            ["sum", "Sum of the values"],
            ["count", "Count of the events"],
            ["max", "Greatest value"],
          ]}
        />
        <ShowAsCode http="POST /api/billing/metering/meters" body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
