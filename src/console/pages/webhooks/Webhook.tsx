import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { CredentialsService } from "../../../../gen/atrium/credentials/v1/credentials_pb.ts";
import type { RotateWebhookSecretResponse } from "../../../../gen/atrium/credentials/v1/credentials_pb.ts";
import { WebhooksService } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import type { Webhook as WebhookRecord } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm, SecretDialog } from "../../widgets/Dialog.tsx";
import { ExternalLink } from "../../widgets/ExternalLink.tsx";
import { FailureNotice, Notice } from "../../widgets/Notice.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { Time } from "../../widgets/Time.tsx";
import { alertToast } from "../../widgets/toasts.ts";
import { lastFailure, useCall } from "../../widgets/use-call.ts";
import { eventsInWords, lastAnswer, scopeInWords } from "./words.ts";
import { Charts } from "./Charts.tsx";
import { CheckSignature } from "./CheckSignature.tsx";
import { LiveTail } from "./LiveTail.tsx";
import { RedeliverFailed } from "./RedeliverFailed.tsx";

/** One webhook: what it gets, and how its deliveries went. */
export default function Webhook() {
  const { webhook: webhookId = "" }: { webhook?: string } = useParams({ strict: false });
  const answer = useQuery(WebhooksService.method.getWebhook, { webhookId });
  if (answer.data === undefined)
    return (
      <Page title="Webhook">
        <Answer of={answer} backLink={["/console/webhooks", "Go to the webhooks"]}>
          {() => null}
        </Answer>
      </Page>
    );
  return <Details webhook={answer.data} />;
}

function Details({ webhook }: { webhook: WebhookRecord }) {
  const { webhookId, url } = webhook;
  const navigate = useNavigate();
  const [asked, setAsked] = useState<"delete" | "rotate">();
  const [rotated, setRotated] = useState<RotateWebhookSecretResponse>();
  const [secret, setSecret] = useState<string>();
  const [tailing, setTailing] = useState(false);
  const [checking, setChecking] = useState(false);
  const test = useCall(WebhooksService.method.testWebhook, { done: "Test event sent" });
  const enable = useCall(WebhooksService.method.updateWebhook, { done: "Webhook enabled" });
  const disable = useCall(WebhooksService.method.updateWebhook, {
    done: "Webhook disabled: events are no longer sent to it",
    undo: () => void enable.run({ webhookId, status: "enabled" }),
  });
  const remove = useCall(WebhooksService.method.deleteWebhook, { done: "Webhook deleted" });
  const rotate = useCall(CredentialsService.method.rotateWebhookSecret);
  const redeliver = useCall(WebhooksService.method.redeliver, { done: "Sent again", onFailure: alertToast });
  const enabled = webhook.status === "enabled";
  const failure = lastFailure(test, enable, disable);
  return (
    <Page
      title={url}
      about={<Status of={webhook.status} />}
      actions={
        <>
          <Button look="primary" busy={test.busy} onClick={() => void test.run({ webhookId })}>
            Send test
          </Button>
          {enabled ? (
            <Button busy={disable.busy} onClick={() => void disable.run({ webhookId, status: "disabled" })}>
              Disable
            </Button>
          ) : (
            <Button busy={enable.busy} onClick={() => void enable.run({ webhookId, status: "enabled" })}>
              Enable
            </Button>
          )}
          <Button aria-pressed={tailing} onClick={() => setTailing(!tailing)}>
            Live tail
          </Button>
          <Button onClick={() => setChecking(true)}>Check a signature</Button>
          <Button onClick={() => setAsked("rotate")}>Rotate secret</Button>
          <Button onClick={() => setAsked("delete")}>Delete</Button>
        </>
      }
    >
      {failure !== undefined && <FailureNotice failure={failure} />}
      {!enabled && <Notice kind="warn">It is disabled: events are not sent to it.</Notice>}
      {rotated !== undefined && (
        <Notice kind="info">
          Both secrets are valid until <Time at={rotated.oldSecretExpiresAt} />: events carry a signature of each.
        </Notice>
      )}
      {tailing && <LiveTail webhookId={webhookId} />}
      <Section title="Details">
        <Facts>
          {[
            ["Webhook id", <Id key="id" of={webhookId} what="webhook id" />],
            ["URL", <ExternalLink key="url" href={url} />],
            ["Events", eventsInWords(webhook.events)],
            ["Scope", scopeInWords(webhook.scope)],
            ["Created", <Time key="made" at={webhook.createdAt} />],
          ]}
        </Facts>
      </Section>
      <Charts webhookId={webhookId} />
      <Section title="Deliveries" actions={<RedeliverFailed webhookId={webhookId} />}>
        <DataTable
          caption="Deliveries"
          things="deliveries"
          method={WebhooksService.method.listDeliveries}
          input={{ webhookId }}
          rowKey={({ deliveryId }) => deliveryId}
          filters={[
            {
              name: "status",
              label: "Status",
              values: [
                ["pending", "Pending"],
                ["delivered", "Delivered"],
                ["failed", "Failed"],
              ],
            },
          ]}
          columns={[
            {
              header: "Event",
              cell: ({ deliveryId, eventType }) => (
                <Link to={`/console/webhooks/${webhookId}/deliveries/${deliveryId}`}>{eventType}</Link>
              ),
              csv: ({ eventType }) => eventType,
            },
            { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
            {
              header: "Last answer",
              cell: lastAnswer,
              csv: lastAnswer,
            },
            {
              header: "Attempts",
              cell: ({ attempts }) => attempts.length,
              csv: ({ attempts }) => attempts.length,
              right: true,
            },
            { header: "Next attempt", time: ({ nextAttemptAt }) => nextAttemptAt, none: "–" },
            { header: "Created", sort: "created_at", time: ({ createdAt }) => createdAt },
          ]}
          actions={(delivery) => (
            <Button
              small
              disabled={delivery.status === "pending"}
              onClick={() => void redeliver.run({ webhookId, deliveryId: delivery.deliveryId })}
            >
              Redeliver
            </Button>
          )}
          empty={{
            text: "Nothing was sent yet. Send a test event to see how your endpoint answers.",
            api: `POST /api/v2/webhooks/${webhookId}/test`,
          }}
          refetchMs={2_000}
        />
      </Section>
      <CodeSample http={`GET /api/v2/webhooks/${webhookId}/deliveries`} />
      {checking && <CheckSignature onClose={() => setChecking(false)} />}
      <Confirm
        title="Rotate the secret?"
        about="A new secret is made. Events carry the signatures of both for 24 hours; then the old one is of no use."
        verb="Rotate"
        open={asked === "rotate"}
        call={rotate}
        onCancel={() => setAsked(undefined)}
        onConfirm={() =>
          void rotate.run({ webhookId }).then((done) => {
            if (done === undefined) return;
            setAsked(undefined);
            setSecret(done.newSecret);
            setRotated({ ...done, newSecret: "" });
          })
        }
      />
      <Confirm
        title="Delete this webhook?"
        about="Events are no longer sent to it, and what is waiting is dropped."
        verb="Delete"
        typed={url}
        open={asked === "delete"}
        call={remove}
        onCancel={() => setAsked(undefined)}
        onConfirm={() =>
          void remove.run({ webhookId }).then((done) => done && void navigate({ to: "/console/webhooks" }))
        }
      />
      <SecretDialog
        thing="webhook secret"
        secret={secret}
        file="webhook-secret.txt"
        onSaved={() => setSecret(undefined)}
      />
    </Page>
  );
}
