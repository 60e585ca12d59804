import { runInNewContext } from "node:vm";
import Stripe from "stripe";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { systemRandom } from "../../src/platform/random.ts";
import { newWebhookSecret, signDelivery } from "../../src/platform/outgoing/signature.ts";
import { documentText } from "../support/document-blocks.ts";

// The receivers' recipes as the tour prints them, with the libraries receivers already have.
const tour = documentText("docs/tour-webhooks.md");
const secret = newWebhookSecret(systemRandom);
const body = JSON.stringify({
  type: "install.active",
  timestamp: "2026-11-21T20:00:00.000Z",
  id: "evt_1",
  org_uuid: "o",
  data: { install_id: "i" },
});
const signed = () =>
  signDelivery({
    id: "evt_1",
    timestamp: Math.floor(Date.now() / 1000),
    body,
    secrets: [newWebhookSecret(systemRandom), secret],
  });

/** Runs the tour's lines for a package on a request and returns the `event` they produce. */
function receive(library: string, rawBody: string): unknown {
  const blocks = [...tour.matchAll(/```ts\n(.*?)```/gsu)].flatMap(([, code = ""]) =>
    code.includes(`from "${library}"`) ? [code] : [],
  );
  expect(blocks, `recipes for ${library}`).toHaveLength(1);
  const lines =
    blocks[0]
      ?.split("\n")
      .filter((line) => !line.startsWith("import "))
      .join("\n") ?? "";
  return runInNewContext(`${lines}\nevent`, {
    Webhook,
    Stripe,
    secret,
    rawBody,
    request: { headers: { ...signed() } },
  });
}

test.each(["standardwebhooks", "stripe"])(
  "the recipe for %s in docs/tour-webhooks.md verifies a delivery and refuses a changed one",
  (library) => {
    expect(receive(library, body)).toMatchObject({ type: "install.active" });
    expect(() => receive(library, body.replace("install_id", "install_ix"))).toThrow();
    expect(() => receive(library, body.replace("evt_1", "evt_2"))).toThrow();
  },
);
