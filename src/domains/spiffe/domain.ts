import { SpiffeService } from "../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { createPoller } from "../../platform/poller.ts";
import { registration } from "../../platform/rpc.ts";
import { spiffeRpc } from "./rpc.ts";
import { createSpiffe } from "./spiffe.ts";

/** SPIFFE workload identity. */
export const spiffeDomain = defineDomain("spiffe", (ground: Ground) => {
  const { contexts, ...below } = ground;
  const spiffe = createSpiffe(below);
  return {
    ...spiffe,
    services: [registration(SpiffeService, spiffeRpc(spiffe, contexts))],
    pollers: [
      createPoller(ground, {
        name: "spiffe-roots",
        intervalMs: 3_600_000,
        backOff: { firstMs: 1_000, maxMs: 60_000 },
        run: () => spiffe.roots.createMissing(),
      }),
    ],
  };
});
