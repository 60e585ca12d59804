import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** What an organization has bought, newest first: each payment reads which plan it has now. */
export const paidQuotes = defineConcurrentMigration("0058-paid-quotes", [
  {
    index: "quotes_paid",
    on: "quotes (org_uuid, consumed_at desc, quote_id) where consumed_at is not null and price_id is not null",
  },
  { index: "payments_quote", on: "payments (quote_id)" },
]);
