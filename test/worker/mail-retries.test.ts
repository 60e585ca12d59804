import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLog } from "../../src/platform/log.ts";
import { createMailTopics } from "../../src/platform/outgoing/mail-outbox.ts";
import { startSmtp } from "../outgoing/smtp.ts";
import type { SmtpServer } from "../outgoing/smtp.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let smtp: SmtpServer;
let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  smtp = await startSmtp();
  app = await startApp({
    role: "all",
    temporal: { address: "127.0.0.1:1", namespace: "none" },
    clock: systemClock,
    env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_SMTP_URL: `smtp://127.0.0.1:${smtp.port}` },
  });
  owner = await founder(app);
});
afterAll(async () => {
  await app.close();
  await smtp.close();
});

async function invite(email: string): Promise<void> {
  const path = `/api/admin/organizations/${owner.org}/invitations`;
  expect((await app.call("POST", path, { token: owner.token, body: { email, role_id: 3 } })).status).toBe(201);
}
const waiting = () =>
  runSql(app.databaseUrl, "select topic, attempts > 0 as tried from outbox where topic like 'mail.%' order by id");

test("a mail that its server refuses for good is tried once; others are tried again, apart from new ones", async () => {
  await expect.poll(waiting).toEqual([]);
  await invite("nobody@dead.test");
  await expect.poll(async () => (await app.call("GET", "/metrics")).text).toMatch(/^atrium_mails_refused 1$/mu);
  await expect.poll(waiting).toEqual([]);
  await invite("nobody+450_4.2.1@slow.test");
  await expect.poll(waiting).toEqual([{ topic: "mail.retry", tried: true }]);
  await invite("somebody@alive.test");
  await expect.poll(() => smtp.heard.to.at(-1)).toContain("somebody@alive.test");
  expect(smtp.heard.to.filter((line) => line.includes("@dead.test"))).toHaveLength(1);
});

const heardBy = (email: string) => smtp.heard.messages.filter((message) => message.includes(`To: ${email}`));

test("a mail is sent once to a server that takes long to accept it", async () => {
  await invite("slow@alive.test");
  const [newest] = await runSql<{ id: string }>(app.databaseUrl, "select max(id) as id from outbox");
  await expect.poll(() => runSql(app.databaseUrl, "select id from outbox where id = $1", [newest?.id])).toEqual([]);
  expect(heardBy("slow@alive.test")).toHaveLength(1);
});

test("a mail that is sent again, since the answer to the first one was lost, has the same Message-ID", async () => {
  await invite("lost@alive.test");
  await expect.poll(() => heardBy("lost@alive.test").length).toBe(2);
  const ids = heardBy("lost@alive.test").map((message) => /^Message-ID: (<.+@.+>)\r$/mu.exec(message)?.[1]);
  expect(ids[0]).toBeTypeOf("string");
  expect(ids[1]).toBe(ids[0]);
});

test("a mail is tried every 30 s for half an hour, and once an hour after days", () => {
  const sink = { send: () => Promise.resolve() };
  const { topics } = createMailTopics({ sealer: { open: () => Buffer.of() }, sink, log: silentLog });
  const retry = topics["mail.send"]?.retry;
  if (typeof retry !== "function") throw new Error("the waits are a function of the age");
  expect([1, 2, 3, 4, 5, 60].map((attempts) => retry(attempts, 1_800_000))).toEqual([
    1_000, 5_000, 15_000, 30_000, 30_000, 30_000,
  ]);
  expect([3_600_000, 86_400_000, 604_800_000].map((ageMs) => retry(99, ageMs))).toEqual([60_000, 1_440_000, 3_600_000]);
});
