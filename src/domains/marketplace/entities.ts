import { defineEntity, p } from "@mikro-orm/postgresql";
import { marketplaceErrors } from "./errors.ts";
import { mayMove } from "./rules.ts";
import type { AppPlan, AppStatus, InstallStatus, InstallStepKind } from "./rules.ts";

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
    rejectionReason: p.text().nullable(),
    publishedAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

/** An app of the marketplace. */
export class App extends AppSchema.class {
  /** Makes a draft public. */
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

  /** Refuses a draft; the next edit makes it a draft again. */
  reject(at: Date, reason: string | null): void {
    if (this.status !== "draft")
      throw marketplaceErrors.invalidTransition({
        message: `Only a draft can be rejected; this app is ${this.status}.`,
      });
    this.status = "rejected";
    this.rejectionReason = reason;
    this.updatedAt = at;
  }

  /** Takes the app off the marketplace for good; its installs live on. */
  archive(at: Date): void {
    if (this.status === "archived")
      throw marketplaceErrors.invalidTransition({ message: "The app is archived already." });
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
    step: p.text().$type<InstallStepKind>().nullable(),
    stepEventId: p.text().nullable(),
    stepSince: p.datetime().nullable(),
    stepDeadline: p.datetime().nullable(),
    acceptedAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

// A function, not a private method: the ORM makes instances without running the constructor.
function move(install: Install, to: InstallStatus, at: Date): void {
  if (!mayMove(install.status, to))
    throw marketplaceErrors.invalidTransition({ message: `An install that is ${install.status} cannot become ${to}.` });
  install.status = to;
  install.updatedAt = at;
}

/** What a publisher is asked for: which message, under which id, since when, until when. */
export interface StepRequest {
  kind: InstallStepKind;
  /** `webhook-id` of every attempt. */
  eventId: string;
  at: Date;
  deadline: Date;
}

/** An install of an app by an organization. Its state moves only here, under a row lock. */
export class Install extends InstallSchema.class {
  /** The publisher has it running. */
  activate(at: Date, endpointUrl: string | undefined): void {
    move(this, "active", at);
    this.settle();
    if (endpointUrl !== undefined) this.endpointUrl = endpointUrl;
  }

  /** Provisioning came to nothing; no deprovisioning follows. */
  failProvisioning(at: Date, reason: string): void {
    if (this.status !== "provisioning") throw marketplaceErrors.invalidTransition();
    move(this, "deprovisioned", at);
    this.settle();
    this.failureReason = reason;
  }

  /** The publisher has accepted the present step and will call back by the deadline. */
  accept(at: Date, deadline: Date): void {
    this.acceptedAt = at;
    this.stepDeadline = deadline;
    this.updatedAt = at;
  }

  /** The organization gives the app back; whatever was asked of the publisher before is overtaken. */
  beginDeprovisioning(request: StepRequest): void {
    move(this, "deprovisioning", request.at);
    this.ask(request);
  }

  /** Everything of it is gone at the publisher's, or was given up. */
  finishDeprovisioning(at: Date): void {
    if (this.status !== "deprovisioning") throw marketplaceErrors.invalidTransition();
    move(this, "deprovisioned", at);
    this.settle();
  }

  /** Stops it for the buyer; the publisher is told. */
  suspend(request: StepRequest): void {
    if (this.status !== "active")
      throw marketplaceErrors.invalidTransition({
        message: `Only an active install can be suspended; this one is ${this.status}.`,
      });
    move(this, "suspended", request.at);
    this.ask(request);
  }

  /** Lets it run again; the publisher is told. */
  resume(request: StepRequest): void {
    if (this.status !== "suspended")
      throw marketplaceErrors.invalidTransition({
        message: `Only a suspended install can be resumed; this one is ${this.status}.`,
      });
    move(this, "active", request.at);
    this.ask(request);
  }

  /** What is asked of the publisher now. */
  pending(): (StepRequest & { accepted: boolean }) | null {
    const { step, stepEventId, stepSince, stepDeadline, acceptedAt } = this;
    if (!step || !stepEventId || !stepSince || !stepDeadline) return null;
    return { kind: step, eventId: stepEventId, at: stepSince, deadline: stepDeadline, accepted: Boolean(acceptedAt) };
  }

  /** Asks the publisher for something, in place of what was asked before. */
  ask({ kind, eventId, at, deadline }: StepRequest): void {
    this.step = kind;
    this.stepEventId = eventId;
    this.stepSince = at;
    this.stepDeadline = deadline;
    this.acceptedAt = null;
  }

  /** Nothing is asked of the publisher any more. */
  settle(): void {
    this.step = null;
    this.stepEventId = null;
    this.stepSince = null;
    this.stepDeadline = null;
    this.acceptedAt = null;
  }
}
InstallSchema.setClass(Install);

/** Entities of this domain, for the ORM's explicit list. */
export const marketplaceEntities = [AppSchema, InstallSchema];
