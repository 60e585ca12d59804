import { split } from "shamir-secret-sharing";
import { expect, test } from "vitest";
import { MASTER_KEY, startApp } from "../support/app.ts";
import { traceReceiver } from "../support/otlp.ts";
import { founder } from "../support/people.ts";
import { sealOf, secretsOf } from "./support.ts";

test("spans of writing, reading and unsealing contain neither value nor key nor share", async () => {
  const receiver = await traceReceiver();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, SERVICE_OPEN_SIGNUP: "1" };
  const app = await startApp({ env });
  const secrets = secretsOf(app, await founder(app));
  const value = "swordfish with a pinch of salt";
  expect((await secrets.put("kept", value)).status).toBe(200);
  expect((await secrets.get("kept")).body.value).toBe(value);
  const seal = await sealOf(app);
  await seal.seal();
  const wrong = Buffer.alloc(32, 1);
  expect((await seal.unseal({ key: wrong.toString("base64") })).status).toBe(400);
  expect((await seal.unseal({ key: MASTER_KEY.toString("base64") })).body.sealed).toBe(false);
  await seal.seal();
  const shares = (await split(new Uint8Array(MASTER_KEY), 5, 3)).slice(0, 3).map((share) => Buffer.from(share));
  for (const share of shares) await seal.unseal({ share: share.toString("base64") });
  expect((await seal.status()).body.sealed).toBe(false);
  await app.close();
  await receiver.close();

  const names = receiver.spans.map(({ name }) => name);
  for (const call of ["PutSecret", "GetSecret", "Seal", "Unseal"])
    expect(names).toContain(`atrium.vault.v1.VaultService/${call}`);
  expect(names.some((name) => name.startsWith("SQL "))).toBe(true);
  // Everything that was sent, with events and their stack traces.
  const sent = JSON.stringify(receiver.spans);
  for (const secret of [Buffer.from(value), wrong, MASTER_KEY, ...shares]) {
    for (const form of ["utf8", "base64", "base64url", "hex"] as const)
      expect(sent).not.toContain(secret.toString(form));
    // A buffer as JSON.
    expect(sent).not.toContain([...secret].join(","));
  }
});
