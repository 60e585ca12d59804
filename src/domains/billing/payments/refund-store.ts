import type { Database } from "../../../platform/db/types.ts";
import type { ProviderName } from "../providers/index.ts";

/** The ids that an event names, while it belongs to no purchase; none otherwise. */
export async function waitingIds(
  database: Pick<Database, "prepared">,
  provider: ProviderName,
  eventId: string,
): Promise<string[]> {
  const rows = await database.prepared<{ ids: string[] }>(
    "billing-refund-ids",
    "select ids from provider_events where provider = $1 and event_id = $2 and quote_id is null",
    [provider, eventId],
  );
  return rows[0]?.ids ?? [];
}
