import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { GrantRow } from "./admin-store.ts";
import type { App } from "./entities.ts";
import type { ListingRow } from "./listing-store.ts";

/** An app as the contract shows it; `isOwner` adds what only owners see. */
export function printApp(app: App, publisher: string, isOwner: boolean) {
  return {
    appId: app.appId,
    slug: app.slug,
    name: app.name,
    description: app.description,
    publisher: { orgUuid: app.orgUuid, name: publisher },
    deploymentModes: app.deploymentModes,
    pricingModel: app.pricingModel,
    basePriceCents: app.basePriceCents,
    currency: app.currency,
    plans: app.plans.map((plan) => ({
      planId: plan.plan_id,
      name: plan.name,
      priceCents: plan.price_cents,
      interval: plan.interval,
    })),
    status: app.status,
    ...(app.publishedAt ? { publishedAt: timestampFromDate(app.publishedAt) } : {}),
    createdAt: timestampFromDate(app.createdAt),
    updatedAt: timestampFromDate(app.updatedAt),
    ...(isOwner ? { provisionWebhook: app.provisionWebhook } : {}),
    ...(isOwner && app.rejectionReason ? { rejectionReason: app.rejectionReason } : {}),
  };
}

/** A listing as the contract shows it. */
export function printListing({ externalPlanId, createdAt, ...row }: ListingRow) {
  return {
    ...row,
    ...(externalPlanId === null ? {} : { externalPlanId }),
    createdAt: timestampFromDate(createdAt),
  };
}

/** A grant as the contract shows it. */
export function printGrant({ createdAt, ...row }: GrantRow) {
  return { ...row, createdAt: timestampFromDate(createdAt) };
}
