import { MtlsCaService } from "../../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import type { Events } from "../event-catalogue/index.ts";
import { createMtlsCa } from "./mtls-ca.ts";
import { mtlsCaRpc } from "./rpc.ts";
import { SEALED } from "./sealed.ts";

/** Private certificate authorities of organizations. */
export const mtlsCaDomain = defineDomain(
  "mtls-ca",
  ({ eventCatalogue: events, contexts, ...below }: Ground & { eventCatalogue: Events }) => {
    const mtlsCa = createMtlsCa({ ...below, events });
    return { ...mtlsCa, services: [registration(MtlsCaService, mtlsCaRpc(mtlsCa, contexts, below.clock))] };
  },
  { sealed: SEALED },
);
