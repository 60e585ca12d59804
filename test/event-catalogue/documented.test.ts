import { expect, it } from "vitest";
import { WEBHOOK_DESCRIPTIONS, webhookEventTypes } from "../../src/domains/event-catalogue/index.ts";
import { eventFault } from "../support/documented-events.ts";

const envelope = {
  timestamp: "2026-07-01T09:30:00.000Z",
  id: "evt_0d9c1f3b7a5e48d2b6c4e8f0a1d2c3b4",
  org_uuid: "8e1f0a3c-6d2b-4c7f-b5a9-1d4e7c0f2b63",
};

it("every sample of docs/events.md is valid by the schema beside it", () => {
  const faults = webhookEventTypes.map((type) =>
    eventFault(JSON.stringify({ type, ...envelope, data: WEBHOOK_DESCRIPTIONS[type].sample })),
  );
  expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
});

it("an event that docs/events.md does not describe fails the close of a test's service", () => {
  const fault = (type: string, data: object) => eventFault(JSON.stringify({ type, ...envelope, data }));
  expect(fault("session.opened", {})).toBe("the event session.opened");
  expect(fault("svid.issued", { svid_id: envelope.org_uuid })).toMatch(/required property 'spiffe_id'/u);
  expect(fault("svid.issued", { svid_id: "7", spiffe_id: "spiffe://a/b" })).toMatch(
    /svid_id must match format "uuid"/u,
  );
  expect(fault("webhook.test", { webhook_id: envelope.org_uuid, secret: "x" })).toMatch(/"secret"/u);
});
