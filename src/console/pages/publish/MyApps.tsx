import { create } from "@bufbuild/protobuf";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { PlanSchema } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { PublishAppRequestSchema } from "../../../../gen/atrium/marketplace/v1/publishing_pb.ts";
import { holds } from "../../powers.ts";
import { useMe } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions, SecretDialog } from "../../widgets/Dialog.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { decimal, money } from "../apps/money.ts";
import { DeploymentModes } from "./DeploymentModes.tsx";
import { Description } from "./Description.tsx";

const STATUSES = ["draft", "published", "rejected", "archived"];

/** The apps that the caller publishes. */
export default function MyApps() {
  const me = useMe();
  const [creating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  return (
    <Page
      title="My apps"
      about="Apps that you offer in the marketplace. A new one is a draft until a platform admin approves it."
      actions={
        holds(me, "employee") && (
          <Button look="primary" data-create onClick={() => setCreating(true)}>
            Create app
          </Button>
        )
      }
    >
      <DataTable
        caption="My apps"
        things="apps"
        method={PublisherService.method.listApps}
        rowKey={({ appId }) => appId}
        filters={[{ name: "status", label: "Status", values: STATUSES.map((status) => [status, inWords(status)]) }]}
        columns={[
          {
            header: "App",
            sort: "name",
            cell: ({ appId, name }) => <Link to={`/console/publish/${appId}`}>{name}</Link>,
            csv: ({ name }) => name,
          },
          { header: "Slug", cell: ({ slug }) => <code>{slug}</code>, csv: ({ slug }) => slug },
          {
            header: "From",
            cell: ({ basePriceCents, currency }) => money(basePriceCents, currency),
            csv: ({ basePriceCents, currency }) => `${decimal(basePriceCents, currency)} ${currency.toUpperCase()}`,
            right: true,
          },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
        ]}
        empty={{ text: "You publish no app yet.", api: "POST /api/marketplace/apps" }}
      />
      {creating && <Create onClose={() => setCreating(false)} onMade={setSecret} />}
      <SecretDialog
        thing="provision secret"
        secret={secret}
        file="provision-secret.txt"
        about="Your provisioning endpoint checks our calls with it. It is shown once."
        onSaved={() => setSecret(undefined)}
      />
      <CodeSample http="GET /api/marketplace/apps" />
    </Page>
  );
}

function Create({ onClose, onMade }: { onClose: () => void; onMade: (secret: string) => void }) {
  const form = useForm(PublishAppRequestSchema, {
    name: "",
    slug: "",
    description: "",
    deploymentModes: ["multi_tenant"],
    pricingModel: "subscription",
    basePriceCents: 0,
    currency: "usd",
    provisionWebhook: "",
    plans: [],
  });
  const call = useCall(PublisherService.method.publishApp, { done: "App created" });
  return (
    <Dialog title="Create app" open wide dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          const { basePriceCents = 0 } = values;
          const priceCents = Number(basePriceCents);
          const plan = create(PlanSchema, { planId: "standard", name: "Standard", priceCents, interval: "month" });
          const made = await call.run({ ...values, plans: [plan] });
          if (made === undefined) return;
          onClose();
          onMade(made.webhookSecret);
        })}
      >
        <Field form={form} name="name" />
        <Field form={form} name="slug" hint="Small letters, digits and dashes: it is the app's address." />
        <Description form={form} />
        <DeploymentModes form={form} />
        <Field form={form} name="basePriceCents" hint="In minor units: 1900 is 19.00" />
        <Field form={form} name="currency" hint="ISO 4217 in small letters: usd" />
        <Field form={form} name="provisionWebhook" type="url" />
        <ShowAsCode http="POST /api/marketplace/apps" body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
