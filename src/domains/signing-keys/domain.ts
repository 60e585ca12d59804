import { SigningKeysService } from "../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import { signalOn } from "../../platform/temporal/workflows.ts";
import type { WorkflowKind } from "../../platform/temporal/workflows.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";
import { KEY_OVERLAP } from "./events.ts";
import { signingKeysRpc } from "./rpc.ts";
import { createSigningKeys } from "./signing-keys.ts";
import { SEALED } from "./sealed.ts";

/** Ends the overlap of a rotated key. */
const ROTATE_KEY: WorkflowKind = { type: "rotateKey", prefix: "key-rotation" };

/** Signing keys of organizations and of the instance. */
export const signingKeysDomain = defineDomain(
  "signing-keys",
  ({
    eventCatalogue: events,
    workflows,
    contexts,
    config,
    ...below
  }: Ground & { eventCatalogue: Events; organizations: Organizations }) => {
    const keys = createSigningKeys({
      ...below,
      events,
      config: { baseUrl: config.baseUrl, keyOverlapMs: config.ttl.keyOverlapMs },
    });
    return {
      ...keys,
      services: [registration(SigningKeysService, signingKeysRpc(keys, contexts))],
      topics: {
        [KEY_OVERLAP]: signalOn(workflows, ROTATE_KEY, { idMember: "key_id", signal: "key-changed", concurrency: 4 }),
      },
      recoveries: { keyOverlaps: { list: keys.waiting, start: (id: string) => workflows.start(ROTATE_KEY, id) } },
    };
  },
  { sealed: SEALED },
);
