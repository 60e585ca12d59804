import type { Clock } from "../../platform/clock.ts";
import type { Billing } from "../billing/index.ts";
import type { Credentials } from "../credentials/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Invitations } from "../invitations/index.ts";
import type { Marketplace } from "../marketplace/index.ts";
import type { MtlsCa } from "../mtls-ca/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { Rbac } from "../rbac/index.ts";
import type { ServiceIdentities } from "../service-identities/index.ts";
import type { Sessions } from "../sessions/index.ts";
import type { Vault } from "../vault/index.ts";

/** Dependencies of offboarding. */
export interface OffboardingDeps {
  clock: Clock;
  events: Pick<Events, "emit" | "notify">;
  organizations: Pick<Organizations, "lock" | "remove">;
  rbac: Pick<Rbac, "members">;
  sessions: Pick<Sessions, "ending">;
  credentials: { manage: Pick<Credentials["manage"], "endWithMembership" | "endWithOrganization"> };
  serviceIdentities: Pick<ServiceIdentities, "lockForEnd" | "endWithOrganization">;
  marketplace: Pick<Marketplace, "memberLeaves" | "lockForEnd" | "organizationEnds">;
  billing: { ending: Pick<Billing["ending"], "organizationEnds"> };
  mtlsCa: { authorities: Pick<MtlsCa["authorities"], "lockForEnd" | "endWithOrganization"> };
  vault: Pick<Vault, "lockForEnd" | "endWithOrganization">;
  invitations: Pick<Invitations, "endWithMembership">;
}
