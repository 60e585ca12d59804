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

/** A registered endpoint. */
export class Webhook extends WebhookSchema.class {
  /**
   * Turns it off, by hand or because the endpoint is gone. What is open is over; its rows are worked off in batches.
   */
  disable(at: Date): void {
    this.status = "disabled";
    this.generation++;
    this.clearing = "fail";
    this.updatedAt = at;
  }

  /** Hides it for good; its deliveries, and then the row, are deleted in batches. */
  remove(at: Date): void {
    this.disable(at);
    this.clearing = "delete";
    this.endedAt = at;
  }

  /** Turns it on with a clean record. */
  enable(at: Date): void {
    this.status = "enabled";
    this.failingSince = null;
    this.updatedAt = at;
  }

  /** Takes a new secret; the present one stays valid until `overlapEnd`, an older one ends now. */
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
