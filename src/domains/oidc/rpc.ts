import { toJson } from "@bufbuild/protobuf";
import { ListValueSchema, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ListValue } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { OidcService } from "../../../gen/atrium/oidc/v1/oidc_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import { callbackUri } from "./authorize.ts";
import type { Redirect } from "./authorize.ts";
import type { Connection } from "./connection-store.ts";
import type { RedeemedBy } from "./exchange.ts";
import type { Oidc } from "./oidc.ts";
import { bindingsOf } from "./rules.ts";

const bindings = ({ requestHeader }: HandlerContext): string[] => bindingsOf(requestHeader.get("cookie"));
const listOf = (list: ListValue | undefined): readonly unknown[] | undefined => list && toJson(ListValueSchema, list);

/** The redirect in the headers of the response: no cache keeps it, and the next page learns no referrer. */
function redirect({ responseHeader }: HandlerContext, { location, cookie }: Redirect): Record<string, never> {
  responseHeader.set("location", location);
  responseHeader.set("referrer-policy", "no-referrer");
  responseHeader.set("cache-control", "no-store");
  if (cookie !== undefined) responseHeader.append("set-cookie", cookie);
  return {};
}

function redeemed<T>({ responseHeader }: HandlerContext, { outcome, endCookie }: RedeemedBy<T>): T {
  if (endCookie !== undefined) responseHeader.append("set-cookie", endCookie);
  return outcome;
}

/** `atrium.oidc.v1.OidcService`. */
export function oidcRpc(oidc: Oidc, contexts: RequestContexts, baseUrl: string): ServiceRegistration {
  const print = (one: Connection) => ({
    connectionUuid: one.uuid,
    name: one.name,
    provider: one.provider,
    clientId: one.clientId,
    discoveryUrl: one.discoveryUrl,
    allowedDomains: one.allowedDomains,
    redirectUris: one.redirectUris,
    redirectUri: callbackUri(baseUrl, one.uuid),
    createdAt: timestampFromDate(one.createdAt),
  });
  const { connections } = oidc;
  return registration(OidcService, {
    createConnection: async ({ orgUuid, ...wish }, call) =>
      print(await connections.create(contexts.authenticated(call), orgUuid.toLowerCase(), wish)),
    async listConnections(request) {
      const page = pageOf(request);
      const { rows, ...total } = await connections.list(request.orgUuid.toLowerCase(), page);
      return { data: rows.map(print), ...total, ...page };
    },
    getConnection: async ({ orgUuid, connectionUuid }) =>
      print(await connections.find(orgUuid.toLowerCase(), connectionUuid.toLowerCase())),
    updateConnection: async ({ orgUuid, connectionUuid, allowedDomains, redirectUris, ...change }, call) =>
      print(
        await connections.update(contexts.authenticated(call), orgUuid.toLowerCase(), connectionUuid.toLowerCase(), {
          ...change,
          allowedDomains: listOf(allowedDomains),
          redirectUris: listOf(redirectUris),
        }),
      ),
    deleteConnection: async ({ orgUuid, connectionUuid }, call) => {
      const context = contexts.authenticated(call);
      await connections.remove(context, orgUuid.toLowerCase(), connectionUuid.toLowerCase());
      return {};
    },
    testConnection: ({ orgUuid, connectionUuid }) =>
      oidc.testConnection(orgUuid.toLowerCase(), connectionUuid.toLowerCase()),
    authorize: async (request, call) =>
      redirect(
        call,
        await oidc.authorize(contexts.public(call), {
          ...request,
          connectionUuid: request.connectionUuid.toLowerCase(),
        }),
      ),
    callback: async (request, call) =>
      redirect(
        call,
        await oidc.callback(contexts.public(call), {
          ...request,
          connectionUuid: request.connectionUuid.toLowerCase(),
          bindings: bindings(call),
        }),
      ),
    backchannelLogout: async ({ connectionUuid, logoutToken }, call) => {
      await oidc.backchannelLogout(contexts.public(call), connectionUuid.toLowerCase(), logoutToken);
      return {};
    },
    exchangeSession: async ({ sessionToken, codeVerifier }, call) => {
      const redemption = { sessionToken, codeVerifier, bindings: bindings(call) };
      return redeemed(call, await oidc.exchange(contexts.public(call), redemption));
    },
    linkIdentity: async ({ sessionToken, codeVerifier }, call) => {
      const redemption = { sessionToken, codeVerifier, bindings: bindings(call) };
      redeemed(call, await oidc.link(contexts.authenticated(call), redemption));
      return {};
    },
  } satisfies ServiceImpl<typeof OidcService>);
}
