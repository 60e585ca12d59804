import { bindings, routeTable } from "../shape/contract-routes.ts";
import type { Binding, Route } from "../shape/contract-routes.ts";

/**
 * Who may call what, stated independently of the server: from the route table and the text of decisions 1.7,
 * 2.5, 3.1 and 9.1, and not from the options of the contract.
 */
export interface Guarded {
  route: Route;
  /** The binding behind the route: how to call it over other protocols, and the syntax of its ids. */
  binding: Binding;
  /** Words of the table: `admin`, `elevated`, … */
  words: ReadonlySet<string>;
  /** Scope that an API key must have; undefined when none is required. */
  scope: string | undefined;
  /** Keys are refused whatever their scopes. */
  personOnly: boolean;
  /** A token without an organization is sufficient. */
  orgless: boolean;
  /** The path names an organization. */
  tenant: boolean;
  /** Code of the 404 for a foreign organization. */
  tenantCode: string;
}

/** Routes for persons only, not keys (decisions 2.5), and two that the text does not name. */
const persons = [
  "/api/v1/me/",
  "/api/auth/step-up/",
  "/api/profile",
  "/api/devices/",
  "/api/auth/logout",
  // The same operation as `/api/v1/me/mfa/status`; and a key has no identity.
  "/api/auth/mfa/status",
  "/api/auth/oidc/link",
  "/api/auth/switch",
];

/** What a token without an organization may call (decisions 3.1). */
const withoutOrganization = [
  "/api/auth/me",
  "/api/v1/me/",
  "/api/profile",
  "/api/auth/sessions",
  "/api/auth/logout",
  "/api/auth/mfa/status",
  "/api/auth/switch",
];

/** Resources of scopes by path, the first match (decisions 2.5). */
const resources: readonly (readonly [RegExp, string | undefined])[] = [
  [/^\/api\/auth\/(?:me|superuser)$|^\/api\/entitlements\/|^\/api\/operator\//u, undefined],
  [/^\/api\/auth\/spiffe\/trust-bundle$|^\/api\/admin\/organizations$/u, undefined],
  [/\/session-inventory|\/revoke-all-sessions$|^\/api\/auth\/sessions$/u, "sessions"],
  [/\/(?:auth|audit)-events|^\/api\/auth\/events/u, "events"],
  [/\/signing-keys/u, "keys"],
  [/\/(?:api-keys|scim-tokens|oidc-connections)/u, "credentials"],
  [/\/service-identities|^\/api\/auth\/spiffe\//u, "identities"],
  [/\/(?:secrets|kms-keys)/u, "secrets"],
  [/\/mtls-ca/u, "certificates"],
  [/webhooks\/|\/webhooks$/u, "webhooks"],
  [/^\/api\/users|\/users\/\{user_uuid\}\/role$|\/invitations|^\/api\/organizations(?:\/\{org_uuid\})?$/u, "users"],
  [/^\/api\/roles|^\/api\/v2\//u, "roles"],
  [/^\/api\/installs|\/\{slug\}\/install$|^\/api\/admin\/(?:marketplace\/installs|cloud-targets)/u, "installs"],
  [/^\/api\/(?:admin\/)?marketplace/u, "apps"],
  [/^\/api\/(?:billing|pricing|admin\/pricing|admin\/plans)/u, "billing"],
  [/^\/api\/(?:templates|ops\/custom-variables)/u, "templates"],
  [/^\/api\/ops\//u, "gateway"],
];

/** Words of routes on which a service identity may do for itself what others need more for (decisions 17.7). */
const forOthers: Readonly<Record<string, string>> = { "POST /api/auth/spiffe/jwt-svid": "admin+elevated" };

/** Every route that requires a bearer token of any kind, SCIM tokens included. */
export function guardedRoutes(): Guarded[] {
  const known = new Map(bindings().map((binding) => [`${binding.method} ${binding.path}`, binding]));
  return routeTable().flatMap((route) => {
    if (["public", "mfa_token", "publisher-signature", "provider-signature"].includes(route.auth)) return [];
    const binding = known.get(`${route.method} ${route.path}`);
    if (binding === undefined) throw new Error(`${route.method} ${route.path} is not in the contract`);
    const personOnly = persons.some((prefix) => route.path.startsWith(prefix));
    return {
      route,
      binding,
      words: new Set((forOthers[`${route.method} ${route.path}`] ?? route.auth).split("+")),
      scope: personOnly || route.auth === "scim" ? undefined : scopeOf(route),
      personOnly,
      orgless:
        withoutOrganization.some((prefix) => route.path.startsWith(prefix)) ||
        (route.path === "/api/organizations" && route.method === "GET"),
      tenant: route.path.includes("{org_uuid}"),
      tenantCode: route.path.includes("/oidc-connections") ? "org_not_found" : "not_found",
    };
  });
}

function scopeOf({ method, path }: Route): string | undefined {
  const found = resources.find(([pattern]) => pattern.test(path));
  if (found === undefined) throw new Error(`no scope resource is declared for ${path}`);
  return found[1] === undefined ? undefined : `${method === "GET" ? "read" : "write"}:${found[1]}`;
}

/** A caller as the gate sees them. */
export interface Bearer {
  /** Kind of caller: none, a person, a key, a SCIM token. */
  kind: "none" | "person" | "key" | "scim";
  /** Has a role below employee, which may not publish (decisions 9.1). */
  lowly?: true;
  /** Belongs to the organization whose ids the path has. */
  here: boolean;
  /** Names any organization. */
  organization: boolean;
  admin: boolean;
  owner: boolean;
  /** Administers the app whose id the path has. */
  appAdmin: boolean;
  elevated: boolean;
  /** Platform admin, operator and superuser at once, as the first owner is. */
  platform: boolean;
  /** May write secrets: by their role, and for a key also by its scope. */
  vault: boolean;
  /** Scopes of a key. */
  scopes: readonly string[];
  /** Is a service identity: no person, and may ask for credentials of its own. */
  workload?: true;
  /** Has a role without the permission `billing:read` (decisions 10.7). */
  withoutBilling?: true;
}

/** What needs `billing:write` (decisions 10.5, 17.5). */
const paying = new Set(["POST /api/billing/portal-session", "POST /api/pricing/checkout-session"]);

/** What a service identity may ask for itself, whatever its role (decisions 17.7). */
const ownIdentity = new Set(["POST /api/auth/spiffe/svid", "POST /api/auth/spiffe/jwt-svid"]);

/** The refusal a caller gets from the gate, or `passes`: decisions 1.7, in its order. */
export function expectedOutcome(guarded: Guarded, bearer: Bearer): string {
  const { words, scope } = guarded;
  if (bearer.kind === "none" || (bearer.kind === "scim") !== words.has("scim")) return "401 unauthorized";
  // They may set the plan of any organization; other fields are refused once the body is read.
  if (bearer.platform && `${guarded.route.method} ${guarded.route.path}` === "PATCH /api/organizations/{org_uuid}")
    return "passes";
  if (guarded.tenant && !bearer.here) return `404 ${guarded.tenantCode}`;
  if (words.has("app-admin") && !bearer.appAdmin) return bearer.here ? "403 forbidden" : "404 app_not_found";
  if (bearer.kind === "scim") return "passes";
  if (guarded.personOnly && bearer.kind === "key") return "403 forbidden";
  if (!bearer.organization && !guarded.orgless) return "403 forbidden";
  const name = `${guarded.route.method} ${guarded.route.path}`;
  if (bearer.workload === true && ownIdentity.has(name)) return "passes";
  if (bearer.kind === "key" && scope !== undefined && !opens(bearer.scopes, scope)) return "403 forbidden";
  if (words.has("admin") && !bearer.admin) return "403 forbidden";
  if (`${guarded.route.method} ${guarded.route.path}` === "POST /api/marketplace/apps" && bearer.lowly)
    return "403 forbidden";
  if (words.has("owner") && !bearer.owner) return "403 forbidden";
  if (words.has("vault:write") && !bearer.vault) return "403 forbidden";
  if (["platform-admin", "operator", "superuser"].some((flag) => words.has(flag)) && !bearer.platform)
    return "403 forbidden";
  if (words.has("elevated") && !bearer.elevated) return "403 step_up_required";
  if (name === "GET /api/billing/history" && bearer.withoutBilling === true) return "403 forbidden";
  // Of the roles of the matrix only admins have `billing:write`.
  if (paying.has(name) && !bearer.admin) return "403 forbidden";
  // Cards belong to a person (decisions 10.8).
  if (name.includes(" /api/billing/cards") && !name.startsWith("GET ") && bearer.workload === true)
    return "403 forbidden";
  return "passes";
}

/** `admin` includes all scopes but `vault:write`, which a write to the vault requires in addition. */
function opens(held: readonly string[], scope: string): boolean {
  return held.includes(scope) || held.includes("admin");
}
