import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { getOption, hasOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { AccessService } from "../../../../gen/atrium/access/v1/access_pb.ts";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { CredentialsService } from "../../../../gen/atrium/credentials/v1/credentials_pb.ts";
import { GatewayService } from "../../../../gen/atrium/gateway/v1/gateway_pb.ts";
import { BuyerService } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { MtlsCaService } from "../../../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import { access, Credential, Power } from "../../../../gen/atrium/options/v1/options_pb.ts";
import { RbacService } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { ServiceIdentitiesService } from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { SessionsService } from "../../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { SigningKeysService } from "../../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { SpiffeService } from "../../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { TemplatesService } from "../../../../gen/atrium/templates/v1/templates_pb.ts";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { VaultService } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import { WebhooksService } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";

/** The services whose operations take a scope. */
const SERVICES: readonly DescService[] = [
  AccessService,
  AuthEventsService,
  BillingService,
  BuyerService,
  CredentialsService,
  GatewayService,
  MtlsCaService,
  PublisherService,
  RbacService,
  ServiceIdentitiesService,
  SessionsService,
  SigningKeysService,
  SpiffeService,
  TemplatesService,
  UsersService,
  VaultService,
  WebhooksService,
];

/** An operation that an API key can open, and the scope it takes. */
interface Operation {
  name: string;
  scope: string;
}

/** The scope of an operation, as the access option of the contract says it (decisions 2.5). */
function scopeOf(method: DescMethod): string | undefined {
  if (!hasOption(method, access)) return undefined;
  const { credential, resource } = getOption(method, access);
  if (credential !== Credential.BEARER || resource === "") return undefined;
  const reads = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  return `${reads ? "read" : "write"}:${resource}`;
}

const operations: readonly Operation[] = SERVICES.flatMap((service) =>
  service.methods.flatMap((method) => {
    const scope = scopeOf(method);
    return scope === undefined ? [] : [{ name: `${service.name}.${method.name}`, scope }];
  }),
);

/** Operations that take a scope at all. */
export const OPERATIONS = operations.length;

/** `admin`, which opens all; `vault:write`, which lets a key write secrets; and each scope that an operation takes. */
export const SCOPES: readonly string[] = [
  "admin",
  "vault:write",
  ...[...new Set(operations.map(({ scope }) => scope))].sort(),
];

/** Names of the operations that a key with these scopes can call. */
export function opened(scopes: readonly string[]): string[] {
  return operations
    .filter(({ scope }) => scopes.includes("admin") || scopes.includes(scope))
    .map(({ name }) => name)
    .sort();
}

/** Powers that a role alone gives to a service identity. */
function powersOf(role: string): ReadonlySet<Power> {
  const held = new Set<Power>([Power.APP_ADMIN]);
  if (role !== "observer" && role !== "limited_access") held.add(Power.EMPLOYEE);
  if (role === "admin") held.add(Power.ADMIN).add(Power.VAULT_WRITE);
  return held;
}

const roleOperations = SERVICES.flatMap((service) =>
  service.methods.flatMap((method) => {
    if (!hasOption(method, access)) return [];
    const { credential, personOnly, powers, elevated, ownIdentity } = getOption(method, access);
    if (credential !== Credential.BEARER || personOnly || (elevated && !ownIdentity)) return [];
    return [{ name: `${service.name}.${method.name}`, powers: ownIdentity ? [] : powers }];
  }),
);

/** Operations that some service identity can call. */
export const ROLE_OPERATIONS = roleOperations.length;

/** Names of the operations that a service identity with a role can call. */
export function openedByRole(role: string): string[] {
  const held = powersOf(role);
  return roleOperations
    .filter(({ powers }) => powers.every((power) => held.has(power)))
    .map(({ name }) => name)
    .sort();
}
