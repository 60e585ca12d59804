import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { CloudTargetRow, GrantRow, ListingRow } from "./admin-store.ts";
import type { App } from "./entities.ts";
import type { InstallView } from "./installs.ts";

/** An app as the contract shows it; `owner` adds what only owners see. */
export function printApp(app: App, publisher: string, owner: boolean) {
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
    ...(owner ? { provisionWebhook: app.provisionWebhook } : {}),
    ...(owner && app.rejectionReason ? { rejectionReason: app.rejectionReason } : {}),
  };
}

const printed = new WeakMap<InstallView, ReturnType<typeof printInstall>>();

/** The same, made once for all who watch an install. */
export function printWatched(view: InstallView): ReturnType<typeof printInstall> {
  const known = printed.get(view) ?? printInstall(view);
  printed.set(view, known);
  return known;
}

/** An install as the contract shows it. */
export function printInstall({ install, app, timeline }: InstallView) {
  return {
    installId: install.installId,
    app: { appId: app.appId, name: app.name, slug: app.slug },
    orgUuid: install.orgUuid,
    status: install.status,
    deploymentMode: install.deploymentMode,
    ...(!install.endpointUrl ? {} : { endpointUrl: install.endpointUrl }),
    planId: install.planId,
    quantity: install.quantity,
    paymentSource: install.paymentSource,
    ...(install.currentPeriodEnd ? { currentPeriodEnd: timestampFromDate(install.currentPeriodEnd) } : {}),
    ...(!install.failureReason ? {} : { failureReason: install.failureReason }),
    createdAt: timestampFromDate(install.createdAt),
    updatedAt: timestampFromDate(install.updatedAt),
    timeline: (timeline ?? []).map((line) => ({
      at: timestampFromDate(line.at),
      event: line.event,
      detail: line.detail,
    })),
  };
}

/** A listing as the contract shows it. */
export function printListing(row: ListingRow) {
  return {
    listingId: row.listing_id,
    appId: row.app_id,
    marketplace: row.marketplace,
    externalProductId: row.external_product_id,
    ...(row.external_plan_id === null ? {} : { externalPlanId: row.external_plan_id }),
    status: row.status,
    createdAt: timestampFromDate(new Date(row.created_at)),
  };
}

/** A grant as the contract shows it. */
export function printGrant(row: GrantRow) {
  return {
    grantId: row.grant_id,
    appId: row.app_id,
    userUuid: row.user_uuid,
    grantedBy: row.granted_by,
    createdAt: timestampFromDate(row.created_at),
  };
}

/** A cloud target as the contract shows it. */
export function printTarget(row: CloudTargetRow) {
  return {
    targetId: row.target_id,
    installId: row.install_id,
    orgUuid: row.org_uuid,
    provider: row.provider,
    region: row.region,
    status: row.status,
    createdAt: timestampFromDate(new Date(row.created_at)),
  };
}
