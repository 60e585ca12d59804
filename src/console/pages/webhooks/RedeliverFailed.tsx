import { useQuery } from "@connectrpc/connect-query";
import { createClient } from "@connectrpc/connect";
import { useEffect, useRef, useState } from "react";
import { WebhooksService } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { failureOf } from "../../session/failures.ts";
import { queries, transport } from "../../session/session.ts";
import { Button } from "../../widgets/Button.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { alertToast, toast } from "../../widgets/toasts.ts";
import { plural } from "../../widgets/words.ts";

const client = createClient(WebhooksService, transport);

/** At most so many are sent again by one press. */
const MOST = 200;

/** Sends the deliveries that failed once more, the newest first. */
export function RedeliverFailed({ webhookId }: { webhookId: string }) {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const job = useRef<AbortController>(undefined);
  useEffect(() => () => job.current?.abort(), []);
  const failed = useQuery(
    WebhooksService.method.listDeliveries,
    { webhookId, status: "failed", limit: MOST },
    { refetchInterval: 15_000 },
  );
  const count = failed.data?.data.length ?? 0;
  const send = async (): Promise<void> => {
    const { signal } = (job.current = new AbortController());
    setBusy(true);
    let sent = 0;
    try {
      for (const { deliveryId } of failed.data?.data ?? []) {
        if (signal.aborted) break;
        await client.redeliver({ webhookId, deliveryId });
        sent++;
      }
    } catch (error) {
      alertToast(failureOf(error));
    }
    if (sent > 0) toast(`${plural(sent, "delivery", "deliveries")} sent again`);
    setBusy(false);
    setAsking(false);
    void queries.invalidateQueries();
  };
  return (
    <>
      <Button disabled={count === 0} onClick={() => setAsking(true)}>
        Redeliver failed
      </Button>
      <Confirm
        title={`Send ${plural(count, "failed delivery", "failed deliveries")} again?`}
        about={`Receivers know a repeated event by its id.${count === MOST ? ` The newest ${MOST} are sent.` : ""}`}
        verb="Redeliver"
        open={asking}
        busy={busy}
        onCancel={() => {
          job.current?.abort();
          setAsking(false);
        }}
        onConfirm={() => void send()}
      />
    </>
  );
}
