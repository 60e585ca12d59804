import type { Events } from "../event-catalogue/index.ts";
import type { ServiceIdentities } from "../service-identities/index.ts";
import type { Random } from "../../platform/random.ts";
import type { RootsDeps } from "./roots.ts";

/** Dependencies of SPIFFE workload identity. */
export interface SpiffeDeps extends Omit<RootsDeps, "trustDomains"> {
  random: Pick<Random, "bytes" | "uuid">;
  events: Pick<Events, "emit">;
  serviceIdentities: {
    identities: Pick<ServiceIdentities["identities"], "keep" | "demandRole">;
    svids: Pick<ServiceIdentities["svids"], "recordSvid" | "hasFromAdmin" | "listSvids" | "revokeSvid">;
  };
  config: {
    /** Public URL of the service, no trailing slash. */
    baseUrl: string;
    /** SPIFFE trust domains are `<org_uuid>.<trustDomain>`. */
    trustDomain: string;
    /** Length of the hour in which lifetimes of SVIDs are counted. */
    svidHourMs: number;
  };
}
