// Generated from the contract by `npm run generate`; do not edit.
/* eslint-disable */

import type { DescService } from "@bufbuild/protobuf";
import { AccessService } from "./atrium/access/v1/access_pb.ts";
import { AuthEventsService } from "./atrium/auth_events/v1/auth_events_pb.ts";
import { BillingService } from "./atrium/billing/v1/billing_pb.ts";
import { CredentialsService } from "./atrium/credentials/v1/credentials_pb.ts";
import { GatewayService } from "./atrium/gateway/v1/gateway_pb.ts";
import { LoginService } from "./atrium/login/v1/login_pb.ts";
import { BuyerService } from "./atrium/marketplace/v1/buyer_pb.ts";
import { PublisherService } from "./atrium/marketplace/v1/publisher_pb.ts";
import { MfaService } from "./atrium/mfa/v1/mfa_pb.ts";
import { MtlsCaService } from "./atrium/mtls_ca/v1/mtls_ca_pb.ts";
import { OidcService } from "./atrium/oidc/v1/oidc_pb.ts";
import { OperatorService } from "./atrium/operator/v1/operator_pb.ts";
import { RbacService } from "./atrium/rbac/v1/rbac_pb.ts";
import { ScimService } from "./atrium/scim/v1/scim_pb.ts";
import { ServiceIdentitiesService } from "./atrium/service_identities/v1/service_identities_pb.ts";
import { SessionsService } from "./atrium/sessions/v1/sessions_pb.ts";
import { SigningKeysService } from "./atrium/signing_keys/v1/signing_keys_pb.ts";
import { SpiffeService } from "./atrium/spiffe/v1/spiffe_pb.ts";
import { StepUpService } from "./atrium/step_up/v1/step_up_pb.ts";
import { TemplatesService } from "./atrium/templates/v1/templates_pb.ts";
import { UsersService } from "./atrium/users/v1/users_pb.ts";
import { VaultService } from "./atrium/vault/v1/vault_pb.ts";
import { WebhooksService } from "./atrium/webhooks/v1/webhooks_pb.ts";

/** Every service of the contract. */
export const services: readonly DescService[] = [
  AccessService,
  AuthEventsService,
  BillingService,
  CredentialsService,
  GatewayService,
  LoginService,
  BuyerService,
  PublisherService,
  MfaService,
  MtlsCaService,
  OidcService,
  OperatorService,
  RbacService,
  ScimService,
  ServiceIdentitiesService,
  SessionsService,
  SigningKeysService,
  SpiffeService,
  StepUpService,
  TemplatesService,
  UsersService,
  VaultService,
  WebhooksService,
];
