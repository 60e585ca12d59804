import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { billingWorld, checkedOut, lifeAt, stripeEvent } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld({ env: { SERVICE_TTL_QUOTE: "72h" } });
});
afterAll(() => world.close());

const open = (token: string, body: object) => world.app.call("POST", "/api/pricing/checkout-session", { token, body });

async function quote(token: string): Promise<string> {
  const { body } = await world.app.call("POST", "/api/pricing/quote", { token, body: { price_id: world.priceId } });
  return body.quote_id as string;
}

test.each(["stripe", "paddle"])("a checkout whose session was lost is opened again, with %s", async (provider) => {
  const { token } = await founder(world.app);
  const quoteId = await quote(token);
  await runSql(
    world.app.databaseUrl,
    `create or replace function lost_session() returns trigger language plpgsql as $$ begin
       if new.session_id is not null then raise exception 'lost'; end if; return new; end $$`,
  );
  await runSql(
    world.app.databaseUrl,
    "create trigger lost before update on checkouts for each row execute function lost_session()",
  );
  const lost = await open(token, { quote_id: quoteId, provider });
  expect(lost.status).toBe(500);
  await runSql(world.app.databaseUrl, "drop trigger lost on checkouts");
  world.app.clock.advance(1_000);
  const page = `${world.app.url}/elsewhere`;
  const again = await open(token, { quote_id: quoteId, provider, success_url: page });
  expect(again).toMatchObject({ status: 200, body: { status: "open", url: expect.any(String) as string } });
  expect((await open(token, { quote_id: quoteId, provider })).body.id).toBe(again.body.id);
});

test("a session can be paid as long as its quote, and one that Stripe ends before is replaced", async () => {
  const quotes = { stripe: await quote(await world.app.login()), paddle: await quote(await world.app.login()) };
  const again = async (provider: "stripe" | "paddle") => {
    const answer = await open(await world.app.login(), { quote_id: quotes[provider], provider });
    expect(answer).toMatchObject({ status: 200, body: { status: "open", url: expect.any(String) as string } });
    return answer.body as { id: string; expires_at: string };
  };
  const first = { stripe: await again("stripe"), paddle: await again("paddle") };
  world.app.clock.advance(40 * 60_000);
  expect(await again("stripe")).toEqual(first.stripe);
  world.app.clock.advance(25 * 3_600_000);
  expect((await again("paddle")).id).toBe(first.paddle.id);
  const token = await world.app.login();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => open(token, { quote_id: quotes.stripe, provider: "stripe" })),
  );
  const ids = new Set(answers.map(({ body }) => body.id as string));
  expect(ids.size).toBe(1);
  expect(ids).not.toContain(first.stripe.id);
  // What was paid in the session that was replaced counts all the same.
  const { completed, paid } = lifeAt(first.stripe.id);
  for (const event of [completed, paid]) await stripeEvent(world.app, event);
  expect(await open(token, { quote_id: quotes.stripe })).toMatchObject({
    status: 409,
    body: { code: "quote_consumed" },
  });
});

test("a session that was completed is not replaced after its end: its payment may be on the way", async () => {
  const token = await world.app.login();
  const { quoteId, session } = await checkedOut(world, token, "stripe");
  await stripeEvent(world.app, lifeAt(session).completed);
  world.app.clock.advance(25 * 3_600_000);
  const answer = await open(await world.app.login(), { quote_id: quoteId, provider: "stripe" });
  expect(answer).toMatchObject({ status: 200, body: { id: session, status: "complete" } });
});
