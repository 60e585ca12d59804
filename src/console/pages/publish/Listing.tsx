import { useState } from "react";
import type { App } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { UpdateAppRequestSchema } from "../../../../gen/atrium/marketplace/v1/publishing_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { ExternalLink } from "../../widgets/ExternalLink.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Facts, Section } from "../../widgets/Page.tsx";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { money } from "../apps/money.ts";
import { DeploymentModes } from "./DeploymentModes.tsx";
import { Description } from "./Description.tsx";
import { OtherMarketplaces } from "./OtherMarketplaces.tsx";
import style from "./Publish.module.css";

/** What the marketplace shows of an app; those who administer it change it. */
export function Listing({ app, isAdmin }: { app: App; isAdmin: boolean }) {
  const [editing, setEditing] = useState(false);
  return (
    <>
      <Section title="Listing" actions={isAdmin && <Button onClick={() => setEditing(true)}>Edit</Button>}>
        <Facts>
          {[
            ["App id", <Id key="id" of={app.appId} what="app id" />],
            ["Slug", <code key="slug">{app.slug}</code>],
            [
              "Description",
              <span key="description" className={style["paragraphs"]}>
                {app.description}
              </span>,
            ],
            ["Pricing", inWords(app.pricingModel)],
            ["From", money(app.basePriceCents, app.currency)],
            ["Deployment", app.deploymentModes.map(inWords).join(", ")],
            // The service leaves it out for those who do not administer the app.
            isAdmin && ["Provision webhook", <ExternalLink key="url" href={app.provisionWebhook} />],
            ["Published", <Time key="at" at={app.publishedAt} none="not yet" />],
            ["Changed", <Time key="changed" at={app.updatedAt} />],
          ]}
        </Facts>
      </Section>
      {isAdmin && (
        <>
          <OtherMarketplaces appId={app.appId} />
          <CodeSample http={`PATCH /api/marketplace/apps/${app.appId}`} body={{ description: app.description }} />
        </>
      )}
      {editing && <Edit app={app} onClose={() => setEditing(false)} />}
    </>
  );
}

function Edit({ app, onClose }: { app: App; onClose: () => void }) {
  const form = useForm(UpdateAppRequestSchema, {
    appId: app.appId,
    name: app.name,
    description: app.description,
    deploymentModes: app.deploymentModes,
    pricingModel: app.pricingModel,
    basePriceCents: app.basePriceCents,
    currency: app.currency,
    provisionWebhook: app.provisionWebhook ?? "",
  });
  const call = useCall(PublisherService.method.updateApp, { done: "App saved" });
  return (
    <Dialog title={`Edit ${app.name}`} open wide dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async () => {
          if (!form.changed || (await call.run({ appId: app.appId, ...form.changes })) !== undefined) onClose();
        })}
      >
        <Field form={form} name="name" />
        <Description form={form} />
        <DeploymentModes form={form} />
        <Field form={form} name="pricingModel" />
        <Field form={form} name="basePriceCents" hint="In minor units: 1900 is 19.00" />
        <Field form={form} name="currency" />
        <Field form={form} name="provisionWebhook" type="url" />
        <SubmitActions call={call} verb="Save" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
