import { Link } from "@tanstack/react-router";
import { Status } from "../../widgets/Badge.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { lastAnswer } from "./words.ts";
import { useLiveTail } from "./use-live-tail.ts";

/** Deliveries as they happen, from the stream. */
export function LiveTail({ webhookId }: { webhookId: string }) {
  const { deliveries, live } = useLiveTail(webhookId);
  return (
    <Section title="Live tail" about="Deliveries appear as they are made and change, while this tab is visible.">
      <p role="status">{live ? "Listening" : "Connecting"}</p>
      {deliveries.length > 0 && (
        <Rows
          caption="Live tail"
          rows={deliveries}
          rowKey={({ deliveryId }) => deliveryId}
          columns={[
            {
              header: "Event",
              cell: ({ deliveryId, eventType }) => (
                <Link to={`/console/webhooks/${webhookId}/deliveries/${deliveryId}`}>{eventType}</Link>
              ),
            },
            { header: "Status", cell: ({ status }) => <Status of={status} /> },
            { header: "Last answer", cell: lastAnswer },
            { header: "Attempts", cell: ({ attempts }) => attempts.length, right: true },
            { header: "Created", time: ({ createdAt }) => createdAt },
          ]}
        />
      )}
    </Section>
  );
}
