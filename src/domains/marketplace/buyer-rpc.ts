import type { ServiceImpl } from "@connectrpc/connect";
import type { BuyerService } from "../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { callerOrg } from "../../platform/caller.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { printApp } from "./apps/print.ts";
import { printInstall, printWatched } from "./installs/print.ts";
import type { Marketplace } from "./marketplace.ts";

/** Implements `atrium.marketplace.v1.BuyerService`. */
export function buyerRpc(
  { catalogue, installs }: Pick<Marketplace, "catalogue" | "installs">,
  contexts: RequestContexts,
): ServiceImpl<typeof BuyerService> {
  return {
    async browseApps(request) {
      const page = request.page ?? 1;
      const { rows, ...total } = await catalogue.browse(request.q ?? "", page);
      return { apps: rows, ...total, page };
    },
    async getApp({ slug }, call) {
      const { app, publisher, isOwner } = await catalogue.detail(contexts.authenticated(call), slug);
      return printApp(app, publisher, isOwner);
    },
    installApp: async ({ slug, deploymentMode, planId, quantity }, call) =>
      printInstall(await installs.install(contexts.authenticated(call), slug, { deploymentMode, planId, quantity })),
    async listInstalls(request, call) {
      const page = pageOf(request);
      const orgUuid = callerOrg(contexts.authenticated(call).caller);
      const { views, ...total } = await installs.list({ orgUuid, status: request.status }, page);
      return { data: views.map(printInstall), ...total, ...page };
    },
    getInstall: async ({ installId }, call) =>
      printInstall(await installs.read(contexts.authenticated(call), installId)),
    async *watchInstall({ installId }, call) {
      for await (const view of installs.watch(contexts.authenticated(call), installId, call.signal))
        yield printWatched(view);
    },
    uninstallApp: async ({ installId }, call) =>
      printInstall(await installs.remove(contexts.authenticated(call), installId)),
  };
}
