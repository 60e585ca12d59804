import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { WebhooksService } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import type { Delivery as DeliveryRecord } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { useCountdownTo } from "../../widgets/use-countdown.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import style from "./Webhooks.module.css";

/** One delivery: its request, and every attempt with what the endpoint answered. */
export default function Delivery() {
  const params: { webhook?: string; delivery?: string } = useParams({ strict: false });
  const { webhook: webhookId = "", delivery: deliveryId = "" } = params;
  const answer = useQuery(
    WebhooksService.method.getDelivery,
    { webhookId, deliveryId },
    { refetchInterval: ({ state }) => (state.data?.status === "pending" ? 2_000 : false) },
  );
  if (answer.data === undefined)
    return (
      <Page title="Delivery">
        <Answer of={answer} backLink={[`/console/webhooks/${webhookId}`, "Go to the webhook"]}>
          {() => null}
        </Answer>
      </Page>
    );
  return <Details webhookId={webhookId} delivery={answer.data} />;
}

function Details({ webhookId, delivery }: { webhookId: string; delivery: DeliveryRecord }) {
  const { deliveryId, eventId, eventType, status, request, nextAttemptAt } = delivery;
  const redeliver = useCall(WebhooksService.method.redeliver, { done: "Sent again" });
  // A refusal is about the delivery as it was: one that is tried or done since says how it stands.
  useEffect(() => redeliver.clear(), [status, delivery.attempts.length]);
  const due = nextAttemptAt === undefined ? undefined : timestampDate(nextAttemptAt).getTime();
  const left = useCountdownTo(due);
  return (
    <Page
      title={eventType}
      about={<Link to={`/console/webhooks/${webhookId}`}>All deliveries of this webhook</Link>}
      actions={
        <Button
          look="primary"
          busy={redeliver.busy}
          disabled={status === "pending"}
          onClick={() => void redeliver.run({ webhookId, deliveryId })}
        >
          Redeliver
        </Button>
      }
    >
      {redeliver.failure !== undefined && <FailureNotice failure={redeliver.failure} />}
      <Section title="Details">
        <Facts>
          {[
            ["Delivery id", <Id key="id" of={deliveryId} what="delivery id" />],
            ["Event id", <Id key="event" of={eventId} what="event id" />],
            ["Status", <Status key="status" of={status} />],
            ["Created", <Time key="made" at={delivery.createdAt} />],
            due !== undefined && [
              "Next attempt",
              <span key="next" role="timer">
                {left > 0 ? `in ${left} s` : "now"}
              </span>,
            ],
          ]}
        </Facts>
      </Section>
      {request !== undefined && (
        <Section title="Request" about="Signatures are left out: each attempt is signed anew.">
          <pre className={style["body"]} tabIndex={0}>
            {[
              `POST ${request.url}`,
              ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
            ].join("\n")}
          </pre>
          <pre className={style["body"]} tabIndex={0} aria-label="Body">
            {pretty(request.body)}
          </pre>
        </Section>
      )}
      <Section title="Attempts">
        {delivery.attempts.length === 0 ? (
          <p>Nothing was tried yet.</p>
        ) : (
          <ol className={style["attempts"]}>
            {delivery.attempts.map((attempt, n) => (
              <li key={n}>
                <span>
                  <strong>{attempt.statusCode ?? attempt.error ?? "No answer"}</strong>
                  {` · ${attempt.durationMs.toLocaleString("en")} ms · `}
                  <Time at={attempt.at} />
                </span>
                {attempt.response !== undefined && attempt.response !== "" && (
                  <pre className={style["body"]} tabIndex={0}>
                    {attempt.response}
                  </pre>
                )}
              </li>
            ))}
          </ol>
        )}
      </Section>
      <CodeSample http={`POST /api/v2/webhooks/${webhookId}/deliveries/${deliveryId}/redeliver`} />
    </Page>
  );
}

/** JSON with line breaks; other texts as they are. */
function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
