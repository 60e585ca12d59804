import { defineEntity, p } from "@mikro-orm/postgresql";
import { marketplaceErrors } from "../errors.ts";
import type { AppPlan, AppStatus } from "./rules.ts";

/** Schema of {@link App}. */
export const appSchema = defineEntity({
  name: "App",
  tableName: "apps",
  properties: {
    appId: p.uuid().primary(),
    orgUuid: p.uuid(),
    slug: p.text(),
    name: p.text(),
    description: p.text(),
    deploymentModes: p.array(),
    pricingModel: p.text(),
    basePriceCents: p.integer(),
    currency: p.text(),
    plans: p.json().$type<AppPlan[]>(),
    provisionWebhook: p.text(),
    webhookSecret: p.blob().$type<Buffer>(),
    status: p.text().$type<AppStatus>(),
    /** Null for an app that a service identity published. */
    createdBy: p.uuid().nullable(),
    keyId: p.uuid(),
    keyRotatedAt: p.datetime().nullable(),
    rejectionReason: p.text().nullable(),
    publishedAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

/** An app of the marketplace. */
export class App extends appSchema.class {
  /** Publishes a draft. */
  approve(at: Date): void {
    if (this.status !== "draft")
      throw marketplaceErrors.invalidTransition({
        message: `Only a draft can be approved; this app is ${this.status}.`,
      });
    this.status = "published";
    this.rejectionReason = null;
    this.publishedAt = at;
    this.updatedAt = at;
  }

  /** Rejects a draft; the next edit makes it a draft again. */
  reject(at: Date, reason: string | null): void {
    if (this.status !== "draft")
      throw marketplaceErrors.invalidTransition({
        message: `Only a draft can be rejected; this app is ${this.status}.`,
      });
    this.status = "rejected";
    this.rejectionReason = reason;
    this.updatedAt = at;
  }

  /** Withdraws the app for good; its installs live on. */
  archive(at: Date): void {
    if (this.status === "archived")
      throw marketplaceErrors.invalidTransition({ message: "The app is archived already." });
    this.status = "archived";
    this.updatedAt = at;
  }

  /** Records an edit: a rejected app becomes a draft again. */
  edited(at: Date): void {
    if (this.status === "rejected") this.status = "draft";
    this.updatedAt = at;
  }
}
appSchema.setClass(App);
