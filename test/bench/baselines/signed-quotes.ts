/** Quotes without a service: one insert and one `jose` signature each. */
import { randomUUID } from "node:crypto";
import { generateKeyPair, SignJWT } from "jose";
import { pool, serveWork } from "./transactions.ts";

await pool.query(`create table if not exists bare_quotes (
  quote_id uuid primary key, org uuid not null, price_id integer not null, seats integer not null,
  currency text not null, region text not null, unit_amount_cents integer not null, subtotal_cents integer not null,
  tax_cents integer not null, total_cents integer not null, issued_by text not null, issued_at timestamptz not null,
  expires_at timestamptz not null)`);
const { privateKey } = await generateKeyPair("EdDSA");
const org = randomUUID();

serveWork(async () => {
  const quote = { quote_id: randomUUID(), price_id: 1, seats: 3, currency: "usd", region: "default" };
  const sums = { unit_amount_cents: 1_000, subtotal_cents: 3_000, tax_cents: 231, total_cents: 3_231 };
  const now = new Date();
  const end = new Date(now.getTime() + 900_000);
  await pool.query({
    name: "quote",
    text: "insert into bare_quotes values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    values: [quote.quote_id, org, 1, 3, "usd", "default", 1_000, 3_000, 231, 3_231, `user:${org}`, now, end],
  });
  await new SignJWT({ ...quote, ...sums, org, jti: randomUUID() })
    .setProtectedHeader({ alg: "EdDSA", typ: "atrium-quote+jwt", kid: "key" })
    .setIssuedAt()
    .setExpirationTime(end)
    .sign(privateKey);
});
