import { BuyerService } from "../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { PublisherService } from "../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import { signalOn, WORKFLOW_RETRY_MS } from "../../platform/temporal/workflows.ts";
import type { WorkflowKind } from "../../platform/temporal/workflows.ts";
import type { Access } from "../access/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";
import { appSchema } from "./apps/entities.ts";
import { buyerRpc } from "./buyer-rpc.ts";
import { installSchema } from "./installs/entities.ts";
import { INSTALL_CHANGED, INSTALLS_LEFT } from "./installs/events.ts";
import type { LeftInstalls } from "./installs/events.ts";
import { createMarketplace } from "./marketplace.ts";
import { publisherRpc } from "./publisher-rpc.ts";
import { SEALED } from "./sealed.ts";

/** Drives an install through provisioning, suspension and deprovisioning. */
const DRIVE_INSTALL: WorkflowKind = { type: "driveInstall", prefix: "install" };

/** Apps and their installs. */
export const marketplaceDomain = defineDomain(
  "marketplace",
  ({
    eventCatalogue: events,
    config: { baseUrl, timing },
    workflows,
    contexts,
    ...below
  }: Ground & { eventCatalogue: Events; organizations: Organizations; people: People; access: Access }) => {
    const marketplace = createMarketplace({
      ...below,
      events,
      config: {
        baseUrl,
        provisionDeadlineMs: timing.provisionDeadlineMs,
        deprovisionDeadlineMs: timing.deprovisionDeadlineMs,
        webhookTimeoutMs: timing.webhookTimeoutMs,
        schedule: timing.webhookScheduleMs,
      },
    });
    const change = { idMember: "install_id", signal: "install-changed", concurrency: 16 };
    return {
      ...marketplace,
      services: [
        registration(PublisherService, publisherRpc(marketplace, contexts)),
        registration(BuyerService, buyerRpc(marketplace, contexts)),
      ],
      topics: {
        [INSTALL_CHANGED]: signalOn(workflows, DRIVE_INSTALL, change),
        [INSTALLS_LEFT]: {
          handle: (payload: Record<string, unknown>) => marketplace.deprovisionLeft(payload as unknown as LeftInstalls),
          retry: WORKFLOW_RETRY_MS,
          concurrency: 2,
        },
      },
      recoveries: {
        installs: { list: marketplace.waiting, start: (id: string) => workflows.start(DRIVE_INSTALL, id) },
      },
    };
  },
  { entities: [appSchema, installSchema], sealed: SEALED },
);
