import { afterEach, beforeEach, expect, test } from "vitest";
import { act } from "../billing/support.ts";
import { callRest } from "../support/app.ts";
import { runProgram, testFolder } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";

let folder: ReturnType<typeof testFolder>;
let run: ProgramRun | undefined;
beforeEach(() => {
  folder = testFolder();
});
afterEach(async () => {
  if (run !== undefined) {
    process.kill(run.pid, "SIGTERM");
    await run.exit;
    run = undefined;
  }
  folder.remove();
});

const start = (env: Record<string, string> = {}): ProgramRun =>
  runProgram("src/main.ts", ["--fake-payments"], {
    SERVICE_DATA_DIR: folder.path,
    PORT: "0",
    SERVICE_CONSOLE: "off",
    ...env,
  });

test("with --fake-payments a checkout is declined, then paid on its page, and grants the plan", async () => {
  run = start();
  const [, payments = ""] = await run.until(/Payments are simulated on (\S+): no real money is taken/);
  const [, url = ""] = await run.until(/Ready on (\S+)/);
  const [, password = ""] = await run.until(/First login \(shown once\): owner@acme\.test with password (\S+)/);
  const login = { email: "owner@acme.test", password, org_name: "Acme" };
  const token = (await callRest(url, "POST", "/api/auth/login", { body: login })).body.access_token as string;
  const call = async (method: string, path: string, body?: object) => {
    const answer = await callRest(url, method, path, { token, body });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
  const price = { product: "Pro", plan: "pro", interval: "month", currency: "usd", unit_amount_cents: 1_000 };
  const { price_id } = await call("POST", "/api/admin/pricing/prices", price);
  const { quote_id } = await call("POST", "/api/pricing/quote", { price_id });
  const session = await call("POST", "/api/pricing/checkout-session", { quote_id, provider: "stripe" });
  expect(session.url).toContain(`${payments}/pay/`);
  expect(await (await fetch(session.url as string)).text()).toContain("10.00");
  await act(session.url as string, "decline");
  await act(session.url as string, "pay");
  const history = async () => (await call("GET", "/api/billing/history")).data as { amount: number; status: string }[];
  await expect.poll(history).toMatchObject([{ amount: 1_000, status: "paid" }]);
  const { org_uuid } = await call("GET", "/api/auth/me");
  expect(await call("GET", `/api/organizations/${org_uuid}`)).toMatchObject({ plan: "pro" });
});

test("--fake-payments is refused beside a real provider", async () => {
  const refused = start({
    SERVICE_STRIPE_SECRET_KEY: "sk_test_key",
    SERVICE_STRIPE_WEBHOOK_SECRET: "whsec_key",
  });
  expect(await refused.exit).toBe(1);
  expect(refused.output()).toContain("--fake-payments stands for both providers; unset SERVICE_STRIPE_*");
});

test("--fake-payments is refused in production", async () => {
  const refused = start({
    SERVICE_PROFILE: "production",
    SERVICE_BASE_URL: "https://atrium.test",
    SERVICE_INSTANCE_KEY: Buffer.alloc(32, 7).toString("base64"),
    SERVICE_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
    DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    TEMPORAL_ADDRESS: "127.0.0.1:1",
    SERVICE_SMTP_URL: "smtp://127.0.0.1:1",
  });
  expect(await refused.exit).toBe(1);
  expect(refused.output()).toContain("Production takes real payments; start without --fake-payments.");
});
