import { AccessService } from "../../../gen/atrium/access/v1/access_pb.ts";
import { AuthEventsService } from "../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { BillingService } from "../../../gen/atrium/billing/v1/billing_pb.ts";
import { CredentialsService } from "../../../gen/atrium/credentials/v1/credentials_pb.ts";
import { GatewayService } from "../../../gen/atrium/gateway/v1/gateway_pb.ts";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { BuyerService } from "../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { PublisherService } from "../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { MfaService } from "../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { MtlsCaService } from "../../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import { OidcService } from "../../../gen/atrium/oidc/v1/oidc_pb.ts";
import { OperatorService } from "../../../gen/atrium/operator/v1/operator_pb.ts";
import { RbacService } from "../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { ScimService } from "../../../gen/atrium/scim/v1/scim_pb.ts";
import { ServiceIdentitiesService } from "../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { SessionsService } from "../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { SigningKeysService } from "../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { SpiffeService } from "../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { StepUpService } from "../../../gen/atrium/step_up/v1/step_up_pb.ts";
import { TemplatesService } from "../../../gen/atrium/templates/v1/templates_pb.ts";
import { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { VaultService } from "../../../gen/atrium/vault/v1/vault_pb.ts";
import { WebhooksService } from "../../../gen/atrium/webhooks/v1/webhooks_pb.ts";

/** Every service of the contract, by its name in a client. */
export const SERVICES = {
  access: AccessService,
  authEvents: AuthEventsService,
  billing: BillingService,
  buyer: BuyerService,
  credentials: CredentialsService,
  gateway: GatewayService,
  login: LoginService,
  mfa: MfaService,
  mtlsCa: MtlsCaService,
  oidc: OidcService,
  operator: OperatorService,
  publisher: PublisherService,
  rbac: RbacService,
  scim: ScimService,
  serviceIdentities: ServiceIdentitiesService,
  sessions: SessionsService,
  signingKeys: SigningKeysService,
  spiffe: SpiffeService,
  stepUp: StepUpService,
  templates: TemplatesService,
  users: UsersService,
  vault: VaultService,
  webhooks: WebhooksService,
} as const;
