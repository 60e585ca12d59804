import { defineEntity, p } from "@mikro-orm/postgresql";

const WebhookSchema = defineEntity({
  name: "Webhook",
  tableName: "webhooks",
  properties: {
    webhookId: p.uuid().primary(),
    orgUuid: p.uuid(),
    scope: p.text().$type<"org" | "app">(),
    appId: p.uuid().nullable(),
    url: p.text(),
    events: p.array(),
    status: p.text().$type<"enabled" | "disabled">(),
    secret: p.blob().$type<Buffer>(),
    oldSecret: p.blob().$type<Buffer>().nullable(),
    oldSecretExpiresAt: p.datetime().nullable(),
    failingSince: p.datetime().nullable(),
    endedAt: p.datetime().nullable(),
    generation: p.integer(),
    clearing: p.text().$type<"fail" | "delete">().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

/** A webhook: a registered endpoint. */
export class Webhook extends WebhookSchema.class {
  /**
   * Disables it, on request or because its endpoint is gone or fails for too long. A new generation fails its open
   * deliveries at once; the cleanup updates their rows in batches.
   */
  disable(at: Date): void {
    this.status = "disabled";
    this.generation++;
    this.clearing = "fail";
    this.updatedAt = at;
  }

  /** Ends it; the cleanup deletes its deliveries, and then its row, in batches. */
  remove(at: Date): void {
    this.disable(at);
    this.clearing = "delete";
    this.endedAt = at;
  }

  /** Enables it; earlier failures no longer count. */
  enable(at: Date): void {
    this.status = "enabled";
    this.failingSince = null;
    this.updatedAt = at;
  }

  /** Replaces the secret; the present one signs until `overlapEnd`, an older one no longer. */
  rotate(secret: Buffer, at: Date, overlapEnd: Date): void {
    this.oldSecret = this.secret;
    this.oldSecretExpiresAt = overlapEnd;
    this.secret = secret;
    this.updatedAt = at;
  }
}
WebhookSchema.setClass(Webhook);

/** Entities of this domain, for the ORM's explicit list. */
export const webhookEntities = [WebhookSchema];
