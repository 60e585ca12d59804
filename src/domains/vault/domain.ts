import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { Events } from "../event-catalogue/index.ts";
import { vaultRpc } from "./rpc.ts";
import { createVault } from "./vault.ts";
import { SEALED } from "./sealed.ts";

/** Secrets of organizations, sealed under a master key. */
export const vaultDomain = defineDomain(
  "vault",
  ({ eventCatalogue: events, config, contexts, ...below }: Ground & { eventCatalogue: Events }) => {
    const vault = createVault({
      ...below,
      events,
      previousMasterKey: config.previousMasterKey,
      restoreMs: config.ttl.secretRestoreMs,
    });
    return { ...vault, services: [vaultRpc(vault, contexts)] };
  },
  { sealed: SEALED },
);
