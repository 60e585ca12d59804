import { readdirSync, readFileSync } from "node:fs";
import { getOption } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { CreateWebhookRequestSchema } from "../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { rules } from "../../gen/atrium/options/v1/options_pb.ts";
import { EVENTS, webhookEventTypes } from "../../src/domains/event-catalogue/index.ts";

it("the contract lets webhooks subscribe to the types of the catalogue, and to no others", () => {
  const listed = getOption(CreateWebhookRequestSchema.field.events, rules).in;
  expect([...webhookEventTypes].sort()).toEqual(listed.filter((type) => type !== "*").sort());
});

it("a row is named by its type in the audit log, or more precisely where several rows share that", () => {
  const rows = Object.entries(EVENTS);
  const shared = (type: string | null) => rows.filter(([, { audit }]) => audit === type).length > 1;
  const misnamed = rows.filter(([name, { audit, webhook }]) => name !== (audit ?? webhook) && !shared(audit));
  expect(misnamed.map(([name]) => name)).toEqual([]);
});

it("some domain records every administrative type", () => {
  const domains = new URL("../../src/domains/", import.meta.url);
  const code = readdirSync(domains, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.startsWith("event-catalogue"))
    .map((path) => readFileSync(new URL(path, domains), "utf8"))
    .join("\n");
  const isNamed = (name: string): boolean =>
    code.includes(`"${name}"`) || code.includes(`EVENTS[\`${name.slice(0, name.lastIndexOf(".") + 1)}\${`);
  const rows = Object.entries(EVENTS).filter(([, row]) => row.audit !== null && !row.isAuthentication);
  expect(rows.map(([name]) => name).filter((name) => !isNamed(name))).toEqual([]);
});
