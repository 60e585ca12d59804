import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Plan } from "../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import type { PublisherService } from "../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import type { PublishAppRequest, UpdateAppRequest } from "../../../gen/atrium/marketplace/v1/publishing_pb.ts";
import { callerOrg } from "../../platform/caller.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { printStatistics } from "../../platform/statistics.ts";
import { administers } from "../access/index.ts";
import { printApp, printGrant, printListing } from "./apps/print.ts";
import type { PlanInterval } from "./apps/rules.ts";
import type { AppDraft, NamedApp } from "./apps/publishing.ts";
import { printCall, printInstall, printTarget } from "./installs/print.ts";
import type { Marketplace } from "./marketplace.ts";

/** Implements `atrium.marketplace.v1.PublisherService`, for publishers and platform admins. */
export function publisherRpc(
  { apps, installs, cloudTargets }: Pick<Marketplace, "apps" | "installs" | "cloudTargets">,
  contexts: RequestContexts,
): ServiceImpl<typeof PublisherService> {
  const printOwned = ({ app, publisher }: NamedApp) => printApp(app, publisher, true);
  return {
    async publishApp(request, call) {
      const { app, secret } = await apps.publish(contexts.authenticated(call), request.slug, draftOf(request));
      return { appId: app.appId, slug: app.slug, status: app.status, webhookSecret: secret };
    },
    updateApp: async (request, call) =>
      printOwned(await apps.update(contexts.authenticated(call), request.appId, patchOf(request))),
    approveApp: async ({ appId }, call) => printOwned(await apps.approve(contexts.authenticated(call), appId)),
    rejectApp: async ({ appId, reason }, call) =>
      printOwned(await apps.reject(contexts.authenticated(call), appId, reason ?? null)),
    archiveApp: async ({ appId }, call) => printOwned(await apps.archive(contexts.authenticated(call), appId)),
    rotateWebhookSecret: async ({ appId }, call) => ({
      appId,
      webhookSecret: await apps.rotateSecret(contexts.authenticated(call), appId),
    }),
    async rotateSigningKey({ appId }, call) {
      const { keyId, rotatedAt } = await apps.rotateKey(contexts.authenticated(call), appId);
      return { appId, keyId, rotatedAt: timestampFromDate(rotatedAt) };
    },
    createListing: async ({ appId, marketplace, externalProductId, externalPlanId }, call) =>
      printListing(
        await apps.createListing(contexts.authenticated(call), {
          appId,
          marketplace,
          externalProductId,
          externalPlanId: externalPlanId ?? null,
        }),
      ),
    async listListings(request) {
      const page = pageOf(request);
      const { rows, ...total } = await apps.listings(request.appId, page);
      return { data: rows.map(printListing), ...total, ...page };
    },
    async listAdmins({ appId }) {
      const admins = await apps.admins(appId);
      return {
        data: admins.map(({ grantedAt, ...admin }) => ({
          ...admin,
          ...(grantedAt === null ? {} : { grantedAt: timestampFromDate(grantedAt) }),
        })),
      };
    },
    grantAdmin: async ({ appId, userUuid }, call) =>
      printGrant(await apps.grant(contexts.authenticated(call), appId, userUuid.toLowerCase())),
    async revokeAdmin({ appId, userUuid }, call) {
      await apps.revoke(contexts.authenticated(call), appId, userUuid.toLowerCase());
      return {};
    },
    async listApps(request, call) {
      const page = pageOf(request);
      const { caller } = contexts.authenticated(call);
      const { apps: found, ...total } = await apps.list({ orgUuid: callerOrg(caller), status: request.status }, page);
      const data = found.map(({ app, publisher }) => printApp(app, publisher, administers(caller, app)));
      return { data, ...total, ...page };
    },
    async listAllApps(request) {
      const page = pageOf(request);
      const { apps: found, ...total } = await apps.list({ orgUuid: request.orgUuid, status: request.status }, page);
      return { data: found.map(({ app, publisher }) => printApp(app, publisher, true)), ...total, ...page };
    },
    async listAppInstalls(request) {
      const page = pageOf(request);
      const { views, ...total } = await installs.list({ appId: request.appId, status: request.status }, page);
      return { data: views.map(printInstall), ...total, ...page };
    },
    async getAppStats(request) {
      const { range, rows } = await installs.stats(request.appId, request);
      return printStatistics(range, rows, { requested: 0, active: 0, failed: 0, deprovisioned: 0 });
    },
    getAppInstall: async ({ appId, installId }) => printInstall(await installs.readOfApp(appId, installId)),
    async listInstallCalls({ appId, installId }) {
      return { data: (await installs.calls(appId, installId)).map(printCall) };
    },
    async listAllInstalls(request) {
      const page = pageOf(request);
      const { appId, orgUuid, status } = request;
      const { views, ...total } = await installs.list({ appId, orgUuid, status }, page);
      return { data: views.map(printInstall), ...total, ...page };
    },
    suspendInstall: async ({ appId, installId }, call) =>
      printInstall(await installs.suspend(contexts.authenticated(call), appId, installId)),
    resumeInstall: async ({ appId, installId }, call) =>
      printInstall(await installs.resume(contexts.authenticated(call), appId, installId)),
    async reportProvisioning({ installId, body }, call) {
      const bytes = body?.data ?? new Uint8Array();
      return printInstall(await installs.report(contexts.public(call), installId, call.requestHeader, bytes));
    },
    async listCloudTargets(request) {
      const page = pageOf(request);
      const { rows, ...total } = await cloudTargets.list(request.status, page);
      return { data: rows.map(printTarget), ...total, ...page };
    },
    revokeCloudTarget: async ({ targetId }, call) =>
      printTarget(await cloudTargets.revoke(contexts.authenticated(call), targetId)),
  };
}

function plansOf(plans: readonly Plan[]): AppDraft["plans"] {
  return plans.map((plan) => ({
    plan_id: plan.planId,
    name: plan.name || plan.planId,
    price_cents: plan.priceCents,
    // The contract takes no other value.
    interval: (plan.interval || "month") as PlanInterval,
  }));
}

function draftOf(request: PublishAppRequest): AppDraft {
  return {
    name: request.name,
    description: request.description,
    deploymentModes: request.deploymentModes,
    pricingModel: request.pricingModel || "seat",
    basePriceCents: request.basePriceCents,
    currency: request.currency || "usd",
    provisionWebhook: request.provisionWebhook,
    plans: plansOf(request.plans),
  };
}

function patchOf(request: UpdateAppRequest): Partial<AppDraft> {
  const { name, description, pricingModel, basePriceCents, currency, provisionWebhook, deploymentModes, plans } =
    request;
  const given = Object.entries({ name, description, pricingModel, basePriceCents, currency, provisionWebhook }).filter(
    ([, value]) => value !== undefined,
  );
  return {
    ...Object.fromEntries(given),
    ...(deploymentModes.length > 0 ? { deploymentModes } : {}),
    ...(plans.length > 0 ? { plans: plansOf(plans) } : {}),
  };
}
