import { createClient } from "@connectrpc/connect";
import { AuthEventsService } from "../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { BuyerService } from "../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { ServiceIdentitiesService } from "../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { TemplatesService } from "../../../gen/atrium/templates/v1/templates_pb.ts";
import { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { WebhooksService } from "../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { ownApp } from "../pages/publish/use-own-app.ts";
import { failureOf } from "../session/failures.ts";
import { transport } from "../session/session.ts";

/** A thing with a page of its own, found by its id. */
export interface Found {
  /** Path of its page, as in `pages.ts`. */
  page: string;
  kind: string;
  name: string;
}

const installs = createClient(BuyerService, transport);
const users = createClient(UsersService, transport);
const events = createClient(AuthEventsService, transport);
const webhooks = createClient(WebhooksService, transport);
const identities = createClient(ServiceIdentitiesService, transport);
const templates = createClient(TemplatesService, transport);

type Lookup = (id: string, orgUuid: string) => Promise<string | undefined>;

/** What an id may be of: the page, what it is called, and its name; undefined or refused when it is something else. */
const LOOKUPS: readonly (readonly [page: string, kind: string, nameOf: Lookup])[] = [
  ["installs/$install", "Install", async (installId) => (await installs.getInstall({ installId })).app?.name],
  ["members/$user", "Member", async (userUuid) => (await users.listUsers({ userUuid, limit: 1 })).data[0]?.email],
  [
    "audit/$event",
    "Event",
    async (eventId, orgUuid) => (await events.listAuditEvents({ orgUuid, eventId, limit: 1 })).data[0]?.type,
  ],
  ["webhooks/$webhook", "Webhook", async (webhookId) => (await webhooks.getWebhook({ webhookId })).url],
  [
    "identities/$identity",
    "Service identity",
    async (identityId, orgUuid) => (await identities.getServiceIdentity({ orgUuid, identityId })).name,
  ],
  ["publish/$app", "App", async (appId) => (await ownApp(appId))?.name],
  ["templates/$template", "Template", async (id) => (await templates.getTemplate({ id })).name],
];

/** Codes that say that a thing does not exist, or not for the caller. */
const ABSENT = /not_found$|^forbidden$/u;

/** Finds what has an id, among the pages that the caller can open. One that could not be asked for is offered by id. */
export async function findById(id: string, orgUuid: string, known: (page: string) => boolean): Promise<Found[]> {
  const found = await Promise.all(
    LOOKUPS.filter(([page]) => known(page)).map(async ([page, kind, nameOf]): Promise<Found | undefined> => {
      try {
        const name = await nameOf(id, orgUuid);
        return name === undefined ? undefined : { page, kind, name };
      } catch (error) {
        return ABSENT.test(failureOf(error).code) ? undefined : { page, kind, name: id };
      }
    }),
  );
  return found.filter((one) => one !== undefined);
}
