import { defineEntity, p } from "@mikro-orm/postgresql";
import { marketplaceErrors } from "../errors.ts";
import type { PlanInterval } from "../apps/rules.ts";
import { mayMove } from "./rules.ts";
import type { InstallStatus, InstallStepKind } from "./rules.ts";

/** Schema of {@link Install}. */
export const installSchema = defineEntity({
  name: "Install",
  tableName: "installs",
  properties: {
    installId: p.uuid().primary(),
    appId: p.uuid(),
    orgUuid: p.uuid(),
    status: p.text().$type<InstallStatus>(),
    deploymentMode: p.text(),
    planId: p.text(),
    /** The plan as it was bought; null where the app no longer had it when these columns were added. */
    planName: p.text().nullable(),
    planPriceCents: p.integer().nullable(),
    planCurrency: p.text().nullable(),
    planInterval: p.text().$type<PlanInterval>().nullable(),
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

/** A request to the publisher. */
export interface StepRequest {
  kind: InstallStepKind;
  /** `webhook-id` of every attempt. */
  eventId: string;
  /** Since when. */
  at: Date;
  deadline: Date;
}

/** An install of an app by an organization. Its status changes only here, under a row lock. */
export class Install extends installSchema.class {
  /** Provisioning has succeeded. */
  activate(at: Date, endpointUrl: string | undefined): void {
    move(this, "active", at);
    this.settle();
    if (endpointUrl !== undefined) this.endpointUrl = endpointUrl;
  }

  /** Provisioning has failed; no deprovisioning follows. */
  failProvisioning(at: Date, reason: string): void {
    if (this.status !== "provisioning") throw marketplaceErrors.invalidTransition();
    move(this, "deprovisioned", at);
    this.settle();
    this.failureReason = reason;
  }

  /** The publisher has accepted the pending request and has until the deadline to report its result. */
  accept(at: Date, deadline: Date): void {
    this.acceptedAt = at;
    this.stepDeadline = deadline;
    this.updatedAt = at;
  }

  /** Begins deprovisioning, in place of any request that is pending. */
  beginDeprovisioning(request: StepRequest): void {
    move(this, "deprovisioning", request.at);
    this.ask(request);
  }

  /** Deprovisioning has succeeded, or its deadline has passed. */
  finishDeprovisioning(at: Date): void {
    if (this.status !== "deprovisioning") throw marketplaceErrors.invalidTransition();
    move(this, "deprovisioned", at);
    this.settle();
  }

  /** Suspends it for the buyer and notifies the publisher. */
  suspend(request: StepRequest): void {
    if (this.status !== "active")
      throw marketplaceErrors.invalidTransition({
        message: `Only an active install can be suspended; this one is ${this.status}.`,
      });
    move(this, "suspended", request.at);
    this.ask(request);
  }

  /** Resumes it for the buyer and notifies the publisher. */
  resume(request: StepRequest): void {
    if (this.status !== "suspended")
      throw marketplaceErrors.invalidTransition({
        message: `Only a suspended install can be resumed; this one is ${this.status}.`,
      });
    move(this, "active", request.at);
    this.ask(request);
  }

  /** The request that is pending at the publisher; null when none is. */
  pending(): (StepRequest & { accepted: boolean }) | null {
    const { step, stepEventId, stepSince, stepDeadline, acceptedAt } = this;
    if (!step || !stepEventId || !stepSince || !stepDeadline) return null;
    return { kind: step, eventId: stepEventId, at: stepSince, deadline: stepDeadline, accepted: Boolean(acceptedAt) };
  }

  /** Makes a request pending, in place of any other. */
  ask({ kind, eventId, at, deadline }: StepRequest): void {
    this.step = kind;
    this.stepEventId = eventId;
    this.stepSince = at;
    this.stepDeadline = deadline;
    this.acceptedAt = null;
  }

  /** Clears the pending request. */
  settle(): void {
    this.step = null;
    this.stepEventId = null;
    this.stepSince = null;
    this.stepDeadline = null;
    this.acceptedAt = null;
  }
}
installSchema.setClass(Install);
