import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { CreateMeterRequestSchema } from "../../../../gen/atrium/billing/v1/metering_pb.ts";
import type { Meter } from "../../../../gen/atrium/billing/v1/metering_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { MeterChart } from "./MeterChart.tsx";
import style from "./Billing.module.css";

/** Meters of a page. */
const PAGE = 20;

/** What the organization has used, by day: the chart of one meter, the first one until another is chosen. */
export function Meters() {
  // Of this list alone: the address has the page of the payments.
  const [offset, setOffset] = useState(0);
  const [chosen, setChosen] = useState<Meter>();
  const meters = useQuery(
    BillingService.method.listMeters,
    { limit: PAGE, offset, sort: "name" },
    { placeholderData: keepPreviousData },
  );
  const shown = chosen ?? meters.data?.data[0];
  const [creating, setCreating] = useState(false);
  return (
    <>
      <Section
        title="Meters"
        about="A meter counts events that your services report."
        actions={<Button onClick={() => setCreating(true)}>Create meter</Button>}
      >
        <Answer of={meters} lines={2}>
          {({ data, total, offset: before }) =>
            total === 0 ? (
              <Empty text="Nothing is metered yet." api="POST /api/billing/metering/meters" />
            ) : (
              <>
                <Rows
                  caption="Meters"
                  rows={data}
                  rowKey={({ id }) => id}
                  columns={[
                    { header: "Name", cell: ({ name }) => name },
                    {
                      header: "Counts",
                      cell: ({ aggregation, eventName }) => (
                        <>
                          {aggregation} of <code>{eventName}</code>
                        </>
                      ),
                    },
                  ]}
                  actions={(meter) => (
                    <Button
                      small
                      title={meter.name}
                      aria-pressed={meter.id === shown?.id}
                      onClick={() => setChosen(meter)}
                    >
                      Show usage
                    </Button>
                  )}
                />
                {total > PAGE && (
                  <div className={style["pay"]}>
                    <Button small disabled={before === 0} onClick={() => setOffset(Math.max(0, before - PAGE))}>
                      Previous meters
                    </Button>
                    {`${before + 1}–${before + data.length} of ${total.toLocaleString("en")}`}
                    <Button small disabled={before + PAGE >= total} onClick={() => setOffset(before + PAGE)}>
                      Next meters
                    </Button>
                  </div>
                )}
              </>
            )
          }
        </Answer>
      </Section>
      {shown !== undefined && <MeterChart key={shown.id} meter={shown} />}
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
