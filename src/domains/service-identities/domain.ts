import { ServiceIdentitiesService } from "../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import type { Credentials } from "../credentials/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Liveness } from "../liveness/index.ts";
import type { Rbac } from "../rbac/index.ts";
import { serviceIdentitiesRpc } from "./rpc.ts";
import { createServiceIdentities } from "./service-identities.ts";

/** Service identities: workloads that act in an organization with a role. */
export const serviceIdentitiesDomain = defineDomain(
  "service-identities",
  ({
    eventCatalogue: events,
    liveness: { ask: liveness },
    config,
    contexts,
    ...below
  }: Ground & { eventCatalogue: Events; credentials: Credentials; liveness: { ask: Liveness }; rbac: Rbac }) => {
    const environment = config.development ? "dev" : "live";
    const serviceIdentities = createServiceIdentities({ ...below, events, liveness, environment });
    return {
      ...serviceIdentities,
      services: [registration(ServiceIdentitiesService, serviceIdentitiesRpc(serviceIdentities, contexts))],
    };
  },
);
