import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { CreateListingRequestSchema } from "../../../../gen/atrium/marketplace/v1/publishing_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useCall } from "../../widgets/use-call.ts";

/** Where else an app is sold. */
export function OtherMarketplaces({ appId }: { appId: string }) {
  const answer = useQuery(PublisherService.method.listListings, { appId, limit: 200 });
  const [adding, setAdding] = useState(false);
  return (
    <Section
      title="Other marketplaces"
      about="Where else this app is sold, by the ids that it has there."
      actions={<Button onClick={() => setAdding(true)}>Add listing</Button>}
    >
      <Answer of={answer}>
        {({ data }) =>
          data.length === 0 ? (
            <p>This app is sold here alone.</p>
          ) : (
            <Rows
              caption="Other marketplaces"
              rows={data}
              rowKey={({ listingId }) => listingId}
              columns={[
                { header: "Marketplace", cell: ({ marketplace }) => marketplace },
                { header: "Product id", cell: ({ externalProductId }) => <code>{externalProductId}</code> },
                { header: "Plan id", cell: ({ externalPlanId }) => externalPlanId && <code>{externalPlanId}</code> },
                { header: "Added", time: ({ createdAt }) => createdAt },
              ]}
            />
          )
        }
      </Answer>
      {adding && <Add appId={appId} onClose={() => setAdding(false)} />}
    </Section>
  );
}

function Add({ appId, onClose }: { appId: string; onClose: () => void }) {
  const form = useForm(CreateListingRequestSchema, {
    appId,
    marketplace: "",
    externalProductId: "",
    externalPlanId: "",
  });
  const call = useCall(PublisherService.method.createListing, { done: "Listing added" });
  return (
    <Dialog title="Add listing" open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async ({ externalPlanId, ...values }) => {
          const made = await call.run({
            ...values,
            ...(externalPlanId !== "" && { externalPlanId: String(externalPlanId) }),
          });
          if (made !== undefined) onClose();
        })}
      >
        <Field form={form} name="marketplace" />
        <Field form={form} name="externalProductId" />
        <Field form={form} name="externalPlanId" />
        <SubmitActions call={call} verb="Add" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
