import { SpiffeService } from "../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { createPoller } from "../../platform/poller.ts";
import { registration } from "../../platform/rpc.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { MtlsCa } from "../mtls-ca/index.ts";
import type { ServiceIdentities } from "../service-identities/index.ts";
import { demandJwtSvidPower } from "./own-identity.ts";
import { spiffeRpc } from "./rpc.ts";
import { createSpiffe } from "./spiffe.ts";
import { SEALED } from "./sealed.ts";

/** SPIFFE workload identity. */
export const spiffeDomain = defineDomain(
  "spiffe",
  ({
    eventCatalogue: events,
    config: { baseUrl, trustDomain, ttl },
    contexts,
    mtlsCa,
    ...below
  }: Ground & { eventCatalogue: Events; serviceIdentities: ServiceIdentities; mtlsCa: MtlsCa }) => {
    const config = { baseUrl, trustDomain, svidHourMs: ttl.svidHourMs };
    const spiffe = createSpiffe({ ...below, events, config });
    return {
      ...spiffe,
      services: [
        registration(SpiffeService, spiffeRpc(spiffe, mtlsCa, contexts, below.clock), {
          issueJwtSvid: demandJwtSvidPower,
        }),
      ],
      pollers: [
        createPoller(below, {
          name: "spiffe-roots",
          intervalMs: 3_600_000,
          backOff: { firstMs: 1_000, maxMs: 60_000 },
          run: () => spiffe.roots.createMissing(),
        }),
      ],
    };
  },
  { sealed: SEALED },
);
