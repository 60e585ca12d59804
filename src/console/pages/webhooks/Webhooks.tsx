import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { CreateWebhookRequestSchema, WebhooksService } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import type { Webhook } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions, SecretDialog } from "../../widgets/Dialog.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { Events } from "./Events.tsx";
import { Samples } from "./Samples.tsx";
import { eventsInWords, scopeInWords } from "./words.ts";

/** Where the events of the organization are sent. */
export default function Webhooks() {
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<Webhook>();
  return (
    <Page
      title="Webhooks"
      about="Events are posted to these addresses, signed, and sent again until they are accepted."
      actions={
        <Button look="primary" data-create onClick={() => setCreating(true)}>
          Create webhook
        </Button>
      }
    >
      <DataTable
        caption="Webhooks"
        things="webhooks"
        method={WebhooksService.method.listWebhooks}
        rowKey={({ webhookId }) => webhookId}
        columns={[
          {
            header: "URL",
            cell: ({ webhookId, url }) => <Link to={`/console/webhooks/${webhookId}`}>{url}</Link>,
            csv: ({ url }) => url,
          },
          { header: "Events", cell: ({ events }) => eventsInWords(events), csv: ({ events }) => events.join(" ") },
          { header: "Scope", cell: ({ scope }) => scopeInWords(scope), csv: ({ scope }) => scope },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
          { header: "Created", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        empty={{
          text: "No address gets events yet. A webhook tells a program of yours what happens here.",
          api: "POST /api/v2/webhooks",
        }}
      />
      {creating && <Create onClose={() => setCreating(false)} onMade={setMade} />}
      <SecretDialog
        thing="webhook secret"
        secret={made?.secret}
        file="webhook-secret.txt"
        about="Receivers check the signature of each event with it. It is shown once."
        onSaved={() => setMade(undefined)}
      />
      <CodeSample http="POST /api/v2/webhooks" body={{ url: "https://example.com/events", events: ["*"] }} />
    </Page>
  );
}

function Create({ onClose, onMade }: { onClose: () => void; onMade: (made: Webhook) => void }) {
  const form = useForm(CreateWebhookRequestSchema, { url: "", events: ["*"] });
  const call = useCall(WebhooksService.method.createWebhook);
  return (
    <Dialog title="Create webhook" open wide dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          const answer = await call.run(values);
          if (answer === undefined) return;
          onClose();
          onMade(answer);
        })}
      >
        <Field form={form} name="url" label="URL" type="url" placeholder="https://example.com/events" />
        <Events
          schema={CreateWebhookRequestSchema}
          chosen={form.values.events ?? []}
          onChange={(events) => form.set({ events })}
          error={form.errors["events"]}
        />
        <Samples chosen={form.values.events ?? []} />
        <ShowAsCode http="POST /api/v2/webhooks" body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
