import { timestampFromDate } from "@bufbuild/protobuf/wkt";
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
    plans: app.plans.map((plan) => ({ planId: plan.plan_id, name: plan.name, priceCents: plan.price_cents, interval: plan.interval })),
    status: app.status,
    ...(app.publishedAt ? { publishedAt: timestampFromDate(app.publishedAt) } : {}),
    createdAt: timestampFromDate(app.createdAt),
    updatedAt: timestampFromDate(app.updatedAt),
    ...(owner ? { provisionWebhook: app.provisionWebhook } : {}),
  };
}

/** An install as the contract shows it. */
export function printInstall({ install, app, timeline }: InstallView) {
  return {
    installId: install.installId,
    app: { appId: app.appId, name: app.name, slug: app.slug },
    orgUuid: install.orgUuid,
    status: install.status,
    deploymentMode: install.deploymentMode,
    ...(install.endpointUrl === null ? {} : { endpointUrl: install.endpointUrl }),
    planId: install.planId,
    quantity: install.quantity,
    paymentSource: install.paymentSource,
    ...(install.currentPeriodEnd ? { currentPeriodEnd: timestampFromDate(install.currentPeriodEnd) } : {}),
    ...(install.failureReason === null ? {} : { failureReason: install.failureReason }),
    createdAt: timestampFromDate(install.createdAt),
    updatedAt: timestampFromDate(install.updatedAt),
    timeline: (timeline ?? []).map((line) => ({ at: timestampFromDate(line.at), event: line.event, detail: line.detail })),
  };
}
