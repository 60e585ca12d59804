import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { must, publish } from "../marketplace/stage.ts";

/** Maximum open streams of a principal (decisions 13). */
const MOST = 100;

let one: TestApp;
let two: TestApp;
let buyer: Somebody;
let path: string;
beforeAll(async () => {
  one = await startApp();
  two = await startApp({ databaseUrl: one.databaseUrl });
  buyer = await founder(one);
  const { slug } = await publish(one, (await founder(one)).token, {}, await one.login());
  const install = await one.call("POST", `/api/marketplace/${slug}/install`, { token: buyer.token, body: {} });
  path = `/api/installs/${must(install).install_id}/watch`;
});
afterAll(async () => {
  await two.close();
  await one.close();
});

/** Opens a stream; returns its status and how to end it. */
async function watch({ url }: TestApp): Promise<{ status: number; end: () => void }> {
  const control = new AbortController();
  const headers = { authorization: `Bearer ${buyer.token}` };
  const { status } = await fetch(`${url}${path}`, { headers, signal: control.signal });
  return { status, end: () => control.abort() };
}

it("a principal has at most 100 open streams over all instances, and one that ends frees a place at each", async () => {
  const streams = await Promise.all(Array.from({ length: MOST }, (_, at) => watch(at % 2 === 0 ? one : two)));
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
  for (const app of [one, two]) expect((await watch(app)).status).toBe(429);
  streams[0]?.end();
  await expect.poll(async () => (await watch(two)).status).toBe(200);
  expect((await watch(one)).status).toBe(429);
  for (const { end } of streams) end();
});
