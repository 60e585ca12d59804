import type { Page } from "../../platform/db/paging.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Cause, EndedBy } from "../event-catalogue/index.ts";
import * as store from "./connection-store.ts";
import type { Connection } from "./connection-store.ts";
import type { OidcDeps } from "./deps.ts";
import { oidcErrors } from "./errors.ts";
import { MAX_CONNECTIONS, readAllowedDomains, readRedirectUris } from "./rules.ts";

/** A connection to create. */
export interface NewConnection {
  name: string;
  provider: string;
  clientId: string;
  clientSecret: string;
  discoveryUrl: string;
  allowedDomains: readonly unknown[];
  redirectUris: readonly unknown[];
}

/** A change of a connection; absent members stay. */
export interface ConnectionChange {
  name?: string | undefined;
  clientSecret?: string | undefined;
  allowedDomains?: readonly unknown[] | undefined;
  redirectUris?: readonly unknown[] | undefined;
}

/** What the client secret of a connection is sealed for. */
export const secretContext = (uuid: string): string => `oidc-client-secret:${uuid}`;

/** Connections of organizations to identity providers (decisions 8.1). */
export function createConnections(deps: OidcDeps) {
  const { database, clock, random, sealer, outgoing, events, organizations, config } = deps;

  async function demand(tx: Tx, orgUuid: string, uuid: string): Promise<Connection> {
    const found = await store.lockConnection(tx, orgUuid, uuid);
    if (found === undefined) throw oidcErrors.notFound();
    return found;
  }

  function record(
    tx: Tx,
    by: Cause,
    row: (typeof EVENTS)["oidc_connection.created" | "oidc_connection.updated" | "oidc_connection.deleted"],
    { uuid, orgUuid, name }: Pick<Connection, "uuid" | "orgUuid" | "name">,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    const metadata = { connection_uuid: uuid, name, ...more };
    return events.emit(tx, row, { by, orgUuid, resourceId: uuid, metadata });
  }

  return {
    /**
     * Creates a connection. The provider is first asked when somebody signs in, or by `test`.
     * @throws {validation_error} for the discovery URL, the domains and the redirect URIs
     * @throws {conflict} when the organization has 20 connections
     * @throws {org_not_found} when the organization has ended meanwhile
     */
    create(context: CallerContext, orgUuid: string, wish: NewConnection): Promise<Connection> {
      const refused = outgoing.vetUrl(wish.discoveryUrl, "discovery_url");
      if (refused !== undefined) throw errors.validation({ fields: [refused] });
      const uuid = random.uuid();
      const connection: Connection = {
        ...wish,
        uuid,
        orgUuid,
        clientSecret: sealer.seal(wish.clientSecret, secretContext(uuid)),
        allowedDomains: readAllowedDomains(wish.allowedDomains),
        redirectUris: readRedirectUris(wish.redirectUris),
        createdAt: dateOf(clock),
      };
      return context.transaction(async (tx) => {
        if ((await organizations.lock(tx, orgUuid)) === undefined) throw oidcErrors.orgNotFound();
        if ((await store.countConnections(tx, orgUuid)) >= MAX_CONNECTIONS) throw oidcErrors.tooMany();
        await store.insertConnection(tx, connection);
        await record(tx, causedBy(context), EVENTS["oidc_connection.created"], connection);
        return connection;
      });
    },

    /** Connections of an organization, newest first. */
    list: (orgUuid: string, page: Page) => store.connectionsOf(database, orgUuid, page),

    /** The connections of an organization that sign in to the pages of the service itself, by name. */
    offered: (orgUuid: string): Promise<{ uuid: string; name: string }[]> =>
      store.connectionsTo(database, orgUuid, config.baseUrl),

    /** A connection of an organization. @throws {not_found} when there is none */
    async find(orgUuid: string, uuid: string): Promise<Connection> {
      const found = await store.findConnection(database, uuid);
      if (found?.orgUuid !== orgUuid) throw oidcErrors.notFound();
      return found;
    },

    /**
     * Changes a connection; people stay linked.
     * @throws {not_found} when there is none
     * @throws {validation_error} for the domains and the redirect URIs
     */
    update(context: CallerContext, orgUuid: string, uuid: string, change: ConnectionChange): Promise<Connection> {
      const { name, clientSecret, allowedDomains, redirectUris } = change;
      const domains = allowedDomains && readAllowedDomains(allowedDomains);
      const uris = redirectUris && readRedirectUris(redirectUris);
      return context.transaction(async (tx) => {
        const before = await demand(tx, orgUuid, uuid);
        const after: Connection = {
          ...before,
          name: name ?? before.name,
          clientSecret:
            clientSecret === undefined ? before.clientSecret : sealer.seal(clientSecret, secretContext(before.uuid)),
          allowedDomains: domains ?? before.allowedDomains,
          redirectUris: uris ?? before.redirectUris,
        };
        await store.updateConnection(tx, after, dateOf(clock));
        await record(tx, causedBy(context), EVENTS["oidc_connection.updated"], after, {
          changed: Object.entries({ name, client_secret: clientSecret, allowed_domains: domains, redirect_uris: uris })
            .filter(([, value]) => value !== undefined)
            .map(([member]) => member),
        });
        return after;
      });
    },

    /**
     * Deletes a connection: what was not redeemed is void, sessions go on.
     * @throws {not_found} when there is none
     * @throws {conflict} when it is the last one and the organization requires single sign-on
     */
    remove: (context: CallerContext, orgUuid: string, uuid: string): Promise<void> =>
      context.transaction(async (tx) => {
        // Locks the organization before the connection, in the order of a creation.
        const org = await organizations.lock(tx, orgUuid);
        const connection = await demand(tx, orgUuid, uuid);
        if (org?.ssoRequired === true && (await store.countConnections(tx, orgUuid)) === 1)
          throw oidcErrors.stillRequired();
        await store.deleteConnection(tx, connection.uuid);
        await record(tx, causedBy(context), EVENTS["oidc_connection.deleted"], connection);
      }),

    /**
     * Deletes every connection of an organization that goes on; it no longer requires single sign-on then, which
     * nobody could meet.
     */
    async removeAll(tx: Tx, orgUuid: string, { reason, by }: EndedBy): Promise<void> {
      const org = await organizations.lock(tx, orgUuid);
      if (org === undefined) return;
      for (const connection of await store.deleteConnectionsOf(tx, orgUuid))
        await record(tx, by, EVENTS["oidc_connection.deleted"], connection, { reason });
      if (!org.ssoRequired) return;
      await organizations.change(tx, org, { ssoRequired: false }, dateOf(clock));
      await events.emit(tx, EVENTS["organization.updated"], {
        by,
        orgUuid,
        resourceId: orgUuid,
        metadata: { before: { sso_required: true }, after: { sso_required: false }, reason },
      });
    },
  };
}
