import { defineEntity, p } from "@mikro-orm/postgresql";
import { marketplaceErrors } from "./errors.ts";
import { mayMove } from "./rules.ts";
import type { AppPlan, AppStatus, InstallStatus } from "./rules.ts";

const AppSchema = defineEntity({
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
    createdBy: p.uuid(),
    keyId: p.uuid(),
    keyRotatedAt: p.datetime().nullable(),
    publishedAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

/** An app of the marketplace. */
export class App extends AppSchema.class {
  /** Makes a draft public. */
  approve(at: Date): void {
    if (this.status !== "draft") throw marketplaceErrors.invalidTransition({ message: `Only a draft can be approved; this app is ${this.status}.` });
    this.status = "published";
    this.publishedAt = at;
    this.updatedAt = at;
  }

  /** Refuses a draft; the next edit makes it a draft again. */
  reject(at: Date): void {
    if (this.status !== "draft") throw marketplaceErrors.invalidTransition({ message: `Only a draft can be rejected; this app is ${this.status}.` });
    this.status = "rejected";
    this.updatedAt = at;
  }

  /** Takes the app off the marketplace for good; its installs live on. */
  archive(at: Date): void {
    if (this.status === "archived") throw marketplaceErrors.invalidTransition({ message: "The app is archived already." });
    this.status = "archived";
    this.updatedAt = at;
  }

  /** Notes an edit: a rejected app becomes a draft again. */
  edited(at: Date): void {
    if (this.status === "rejected") this.status = "draft";
    this.updatedAt = at;
  }
}
AppSchema.setClass(App);

const InstallSchema = defineEntity({
  name: "Install",
  tableName: "installs",
  properties: {
    installId: p.uuid().primary(),
    appId: p.uuid(),
    orgUuid: p.uuid(),
    status: p.text().$type<InstallStatus>(),
    deploymentMode: p.text(),
    planId: p.text(),
    quantity: p.integer(),
    endpointUrl: p.text().nullable(),
    paymentSource: p.text(),
    currentPeriodEnd: p.datetime().nullable(),
    failureReason: p.text().nullable(),
    installedBy: p.uuid().nullable(),
    sandbox: p.boolean(),
    provisionEventId: p.text(),
    deprovisionEventId: p.text().nullable(),
    stepDeadline: p.datetime(),
    acceptedAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

// A function, not a private method: the ORM makes instances without running the constructor.
function move(install: Install, to: InstallStatus, at: Date): void {
  if (!mayMove(install.status, to)) throw marketplaceErrors.invalidTransition({ message: `An install that is ${install.status} cannot become ${to}.` });
  install.status = to;
  install.updatedAt = at;
}

/** An install of an app by an organization. Its state moves only here, under a row lock. */
export class Install extends InstallSchema.class {
  /** The publisher has it running. */
  activate(at: Date, endpointUrl: string | undefined): void {
    move(this, "active", at);
    if (endpointUrl !== undefined) this.endpointUrl = endpointUrl;
  }

  /** Provisioning came to nothing; no deprovisioning follows. */
  failProvisioning(at: Date, reason: string): void {
    if (this.status !== "provisioning") throw marketplaceErrors.invalidTransition();
    move(this, "deprovisioned", at);
    this.failureReason = reason;
  }

  /** The publisher has accepted the present step and will call back. */
  accept(at: Date, deadline: Date): void {
    this.acceptedAt = at;
    this.stepDeadline = deadline;
    this.updatedAt = at;
  }

  /** The organization gives the app back. */
  beginDeprovisioning(at: Date, deadline: Date, eventId: string): void {
    move(this, "deprovisioning", at);
    this.deprovisionEventId = eventId;
    this.acceptedAt = null;
    this.stepDeadline = deadline;
  }

  /** Everything of it is gone at the publisher's, or was given up. */
  finishDeprovisioning(at: Date): void {
    if (this.status !== "deprovisioning") throw marketplaceErrors.invalidTransition();
    move(this, "deprovisioned", at);
  }
}
InstallSchema.setClass(Install);

/** Entities of this domain, for the ORM's explicit list. */
export const marketplaceEntities = [AppSchema, InstallSchema];
