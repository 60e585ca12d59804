import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { OidcDeps } from "./deps.ts";
import { createOidc } from "./oidc.ts";
import { oidcRpc } from "./rpc.ts";
import { SEALED } from "./sealed.ts";

type Below = Pick<OidcDeps, "organizations" | "people" | "access" | "sessions" | "mfa">;

/** Single sign-on through OpenID Connect providers. */
export const oidcDomain = defineDomain(
  "oidc",
  ({
    eventCatalogue: events,
    config: { baseUrl, ttl },
    contexts,
    ...below
  }: Ground & Below & { eventCatalogue: Events }) => {
    const config = { baseUrl, stateMs: ttl.oidcStateMs, sessionTokenMs: ttl.oidcSessionMs };
    const oidc = createOidc({ ...below, events, config });
    return { ...oidc, services: [oidcRpc(oidc, contexts, baseUrl)] };
  },
  { sealed: SEALED },
);
