import { CredentialsService } from "../../../gen/atrium/credentials/v1/credentials_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Liveness } from "../liveness/index.ts";
import type { Webhooks } from "../webhooks/index.ts";
import { createCredentials } from "./credentials.ts";
import { credentialsRpc } from "./rpc.ts";

/** API keys and SCIM tokens. */
export const credentialsDomain = defineDomain(
  "credentials",
  ({
    eventCatalogue: events,
    webhooks,
    liveness: { ask: liveness },
    config,
    contexts,
    ...below
  }: Ground & { eventCatalogue: Events; liveness: { ask: Liveness }; webhooks: Webhooks }) => {
    const credentials = createCredentials({
      ...below,
      events,
      liveness,
      environment: config.development ? "dev" : "live",
    });
    return {
      ...credentials,
      services: [registration(CredentialsService, credentialsRpc(credentials, webhooks, contexts))],
    };
  },
);
