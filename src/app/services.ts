import type { DescService } from "@bufbuild/protobuf";
import { services } from "../../gen/services.ts";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { AuthEventsService } from "../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { CredentialsService } from "../../gen/atrium/credentials/v1/credentials_pb.ts";
import { BuyerService } from "../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { PublisherService } from "../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { OperatorService } from "../../gen/atrium/operator/v1/operator_pb.ts";
import { RbacService } from "../../gen/atrium/rbac/v1/rbac_pb.ts";
import { SigningKeysService } from "../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { WebhooksService } from "../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { accessRpc } from "../domains/access/index.ts";
import { authEventsRpc } from "../domains/auth-events/index.ts";
import { credentialsRpc } from "../domains/credentials/index.ts";
import { signingKeysRpc } from "../domains/signing-keys/index.ts";
import { buyerRpc, publisherRpc } from "../domains/marketplace/index.ts";
import { mfaRpc } from "../domains/mfa/index.ts";
import { stepUpRpc } from "../domains/step-up/index.ts";
import { operatorRpc } from "../domains/operator/index.ts";
import type { ProcessState } from "../domains/operator/index.ts";
import { rbacRpc } from "../domains/rbac/index.ts";
import { sessionsRpc } from "../domains/sessions/index.ts";
import { loginRpc } from "../domains/login/index.ts";
import { usersRpc } from "../domains/users/index.ts";
import { webhooksRpc } from "../domains/webhooks/index.ts";
import type { RequestContexts } from "../platform/context.ts";
import { registration } from "../platform/rpc.ts";
import type { ServiceRegistration } from "../platform/rpc.ts";
import type { Domains } from "./domains.ts";

/** What is built of the contract, area by area. */
function built(domains: Domains, processState: ProcessState, contexts: RequestContexts): ServiceRegistration[] {
  const { access, authEvents, keys, marketplace, mfa, rbac, sessions, login, webhooks, credentials } = domains;
  return [
    loginRpc(domains, contexts),
    registration(AccessService, accessRpc(access, contexts)),
    usersRpc(domains, contexts),
    registration(RbacService, rbacRpc(rbac, contexts)),
    mfaRpc(mfa, contexts, login.completeSignIn),
    stepUpRpc(domains.stepUp, contexts),
    sessionsRpc(sessions, contexts),
    registration(AuthEventsService, authEventsRpc(authEvents, contexts)),
    registration(SigningKeysService, signingKeysRpc(keys, contexts)),
    registration(PublisherService, publisherRpc(marketplace, contexts)),
    registration(BuyerService, buyerRpc(marketplace, contexts)),
    registration(WebhooksService, webhooksRpc(webhooks, contexts)),
    registration(CredentialsService, credentialsRpc(credentials, webhooks, contexts)),
    registration(OperatorService, operatorRpc(domains.operator, processState, contexts)),
  ];
}

/** Every service of the contract; rpcs that are not built answer `unimplemented`. */
export function composeServices(
  domains: Domains,
  processState: ProcessState,
  contexts: RequestContexts,
): ServiceRegistration[] {
  const byService = new Map<DescService, ServiceRegistration>(
    built(domains, processState, contexts).map((entry) => [entry.service, entry]),
  );
  return services.map((service) => byService.get(service) ?? { service, implementation: {} });
}
