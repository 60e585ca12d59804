import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { CloudTargetRow } from "./cloud-target-store.ts";
import type { InstallCall } from "./call-store.ts";
import type { InstallView } from "./read-install.ts";

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
    timeline: (timeline ?? []).map((entry) => ({
      at: timestampFromDate(entry.at),
      event: entry.event,
      detail: entry.detail,
      ...(entry.nextAttemptAt && { nextAttemptAt: timestampFromDate(entry.nextAttemptAt) }),
    })),
  };
}

/** A request to the publisher as the contract shows it. */
export function printCall({ at, statusCode, error, response, ...call }: InstallCall) {
  return {
    ...call,
    at: timestampFromDate(at),
    ...(statusCode === null ? {} : { statusCode }),
    ...(error === null ? {} : { error }),
    ...(response === null ? {} : { response }),
  };
}

const printed = new WeakMap<InstallView, ReturnType<typeof printInstall>>();

/** The same, printed once for all watchers of a view. */
export function printWatched(view: InstallView): ReturnType<typeof printInstall> {
  const known = printed.get(view) ?? printInstall(view);
  printed.set(view, known);
  return known;
}

/** A cloud target as the contract shows it. */
export function printTarget({ createdAt, ...row }: CloudTargetRow) {
  return { ...row, createdAt: timestampFromDate(createdAt) };
}
