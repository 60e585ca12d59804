import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { BuyerService } from "../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { PublisherService } from "../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import type { PublishAppRequest, UpdateAppRequest } from "../../../gen/atrium/marketplace/v1/publishing_pb.ts";
import type { Plan } from "../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { caller, callerOrg, requestInfo } from "../../platform/caller.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { AppDraft } from "./apps.ts";
import type { Marketplace } from "./index.ts";
import { printApp, printGrant, printInstall, printListing, printTarget, printWatched } from "./print.ts";

function plansOf(plans: readonly Plan[]): AppDraft["plans"] {
  return plans.map((plan) => ({
    plan_id: plan.planId,
    name: plan.name || plan.planId,
    price_cents: plan.priceCents,
    interval: plan.interval || "month",
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

/** Publishers' and platform admins' half of the marketplace. */
export function publisherRpc(market: Marketplace): ServiceRegistration {
  const { apps, administration, installs, provisioning } = market;
  const ownersView = async (app: Parameters<typeof printApp>[0]) => printApp(app, await apps.publisherName(app), true);
  return registration(PublisherService, {
    async publishApp(request, context) {
      const { app, secret } = await apps.publish(caller(context), requestInfo(context), request.slug, draftOf(request));
      return { appId: app.appId, slug: app.slug, status: app.status, webhookSecret: secret };
    },
    updateApp: async (request, context) =>
      ownersView(await apps.update(caller(context), requestInfo(context), request.appId, patchOf(request))),
    approveApp: async (request, context) =>
      ownersView(await apps.approve(caller(context), requestInfo(context), request.appId)),
    rejectApp: async (request, context) =>
      ownersView(await apps.reject(caller(context), requestInfo(context), request.appId, request.reason ?? null)),
    rotateWebhookSecret: async ({ appId }, context) => ({
      appId,
      webhookSecret: await administration.rotateSecret(caller(context), requestInfo(context), appId),
    }),
    async rotateSigningKey({ appId }, context) {
      const { keyId, rotatedAt } = await administration.rotateKey(caller(context), requestInfo(context), appId);
      return { appId, keyId, rotatedAt: timestampFromDate(rotatedAt) };
    },
    createListing: async (request, context) =>
      printListing(
        await administration.list(caller(context), requestInfo(context), {
          app_id: request.appId,
          marketplace: request.marketplace,
          external_product_id: request.externalProductId,
          external_plan_id: request.externalPlanId ?? null,
        }),
      ),
    async listListings(request) {
      const page = pageOf(request);
      const { rows, ...total } = await administration.listings(request.appId, page);
      return { data: rows.map(printListing), ...total, ...page };
    },
    async listAdmins(request) {
      const admins = await administration.admins(request.appId);
      return {
        data: admins.map(({ grantedAt, ...admin }) => ({
          ...admin,
          ...(grantedAt === null ? {} : { grantedAt: timestampFromDate(grantedAt) }),
        })),
      };
    },
    grantAdmin: async (request, context) =>
      printGrant(
        await administration.grant(
          caller(context),
          requestInfo(context),
          request.appId,
          request.userUuid.toLowerCase(),
        ),
      ),
    async revokeAdmin(request, context) {
      await administration.revoke(caller(context), requestInfo(context), request.appId, request.userUuid.toLowerCase());
      return {};
    },
    suspendInstall: async (request, context) =>
      printInstall(await installs.suspend(caller(context), requestInfo(context), request.appId, request.installId)),
    resumeInstall: async (request, context) =>
      printInstall(await installs.resume(caller(context), requestInfo(context), request.appId, request.installId)),
    async listCloudTargets(request) {
      const page = pageOf(request);
      const { rows, ...total } = await administration.cloudTargets(request.status, page);
      return { data: rows.map(printTarget), ...total, ...page };
    },
    revokeCloudTarget: async (request, context) =>
      printTarget(await administration.revokeCloudTarget(caller(context), requestInfo(context), request.targetId)),
    archiveApp: async (request, context) =>
      ownersView(await apps.archive(caller(context), requestInfo(context), request.appId)),
    async listApps(request, context) {
      const page = pageOf(request);
      const orgUuid = callerOrg(caller(context));
      const { apps: found, ...total } = await apps.list({ orgUuid, status: request.status }, page);
      return { data: found.map(({ app, publisher }) => printApp(app, publisher, true)), ...total, ...page };
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
    getAppInstall: async (request) => printInstall(await installs.readOfApp(request.appId, request.installId)),
    async listAllInstalls(request) {
      const page = pageOf(request);
      const { appId, orgUuid, status } = request;
      const { views, ...total } = await installs.list({ appId, orgUuid, status }, page);
      return { data: views.map(printInstall), ...total, ...page };
    },
    reportProvisioning: async (request, context) =>
      printInstall(
        await provisioning.report(
          request.installId,
          context.requestHeader,
          request.body?.data ?? new Uint8Array(),
          requestInfo(context),
        ),
      ),
  });
}

/** Buyers' half of the marketplace. */
export function buyerRpc(market: Marketplace): ServiceRegistration {
  const { browse, installs } = market;
  return registration(BuyerService, {
    async browseApps(request) {
      const page = request.page ?? 1;
      const { rows, ...total } = await browse.browse(request.q ?? "", page);
      const found = rows.map((row) => ({
        appId: row.app_id,
        name: row.name,
        slug: row.slug,
        description: row.description,
        pricingModel: row.pricing_model,
        basePriceCents: row.base_price_cents,
        deploymentModes: row.deployment_modes,
        currency: row.currency,
      }));
      return { apps: found, ...total, page };
    },
    async getApp(request, context) {
      const { app, publisher, isOwner } = await browse.detail(caller(context), request.slug);
      return printApp(app, publisher, isOwner);
    },
    installApp: async (request, context) =>
      printInstall(
        await installs.install(caller(context), requestInfo(context), request.slug, {
          deploymentMode: request.deploymentMode,
          planId: request.planId,
          quantity: request.quantity,
        }),
      ),
    async listInstalls(request, context) {
      const page = pageOf(request);
      const { views, ...total } = await installs.list(
        { orgUuid: callerOrg(caller(context)), status: request.status },
        page,
      );
      return { data: views.map(printInstall), ...total, ...page };
    },
    getInstall: async (request, context) => printInstall(await installs.read(caller(context), request.installId)),
    async *watchInstall(request, context) {
      for await (const view of market.watch(caller(context), request.installId, context.signal))
        yield printWatched(view);
    },
    uninstallApp: async (request, context) =>
      printInstall(await installs.remove(caller(context), requestInfo(context), request.installId)),
  });
}
