import type { Policy } from "../policy.ts";
import type { Rates } from "../rates.ts";
import type { SessionCookies } from "../session-cookie.ts";
import { createAppAdministrator, createBodyAppAdministrator } from "./app-administrator.ts";
import { createAuthenticate, createAuthenticateIfPresent } from "./authenticate.ts";
import type { Authenticators } from "./authenticators.ts";
import { createCookieMode, createCookieToken } from "./cookie-mode.ts";
import { deviceHeader } from "./device-header.ts";
import { createDomainPrecondition, createEvaluatePrecondition } from "./domain-precondition.ts";
import type { Preconditions } from "./domain-precondition.ts";
import { elevation } from "./elevation.ts";
import { createGeneralRateLimit } from "./general-rate-limit.ts";
import { idempotencyKey } from "./idempotency-key.ts";
import { organization } from "./organization.ts";
import { pathIds } from "./path-ids.ts";
import { personOnly } from "./person-only.ts";
import { powers } from "./powers.ts";
import { publisherSignature } from "./publisher-signature.ts";
import { createRenewCredential } from "./renew-credential.ts";
import { scope } from "./scope.ts";
import type { Step } from "./step.ts";
import { bodyTenant, queryTenant, tenant } from "./tenant.ts";

/** What the steps are made of. */
export interface GateDeps {
  authenticators: Authenticators;
  rates: Rates;
  preconditions: Preconditions;
  /** Undefined: no cookie mode. */
  cookies?: SessionCookies | undefined;
}

/** The steps of one rpc over one kind of protocol. */
export interface StepLists {
  readonly beforeBody: readonly Step[];
  readonly afterBody: readonly Step[];
}

/** The steps of one rpc. */
export interface RpcSteps {
  /** REST: the path parameters are known before the body. */
  readonly path: StepLists;
  /** Connect, gRPC and gRPC-Web: every parameter is in the message. */
  readonly message: StepLists;
  /** For a message that cannot be read: what refuses the caller whatever the message says. */
  readonly unreadable: readonly Step[];
  /** For an open stream: the rights that its caller keeps needing. */
  readonly open: readonly Step[];
}

/**
 * Returns a function that lists the steps of an rpc, in the order of refusals of decisions 1.7. It leaves out steps
 * that do not apply to the rpc.
 */
export function createStepLists({
  authenticators,
  rates,
  preconditions,
  cookies,
}: GateDeps): (policy: Policy) => RpcSteps {
  const identification = [
    publisherSignature,
    createAuthenticate(authenticators),
    createAuthenticateIfPresent(authenticators),
    createGeneralRateLimit(rates),
  ];
  const rights = [createCookieMode(cookies), personOnly, organization, scope, powers, elevation];
  const named = [deviceHeader, pathIds, tenant];
  const authorization = [createAppAdministrator(authenticators), ...rights];
  const evaluatePrecondition = createEvaluatePrecondition(preconditions);
  const precondition = createDomainPrecondition(preconditions);

  return (policy) => {
    const of = (...steps: Step[]): readonly Step[] => steps.filter((step) => step.applies(policy));
    return {
      path: {
        beforeBody: of(
          ...identification,
          ...named,
          queryTenant,
          ...authorization,
          evaluatePrecondition,
          precondition,
          idempotencyKey,
        ),
        afterBody: of(
          createRenewCredential(authenticators, of(...rights)),
          bodyTenant,
          createBodyAppAdministrator(authenticators),
          createCookieToken(cookies),
        ),
      },
      message: {
        beforeBody: of(...identification, evaluatePrecondition),
        afterBody: of(
          createRenewCredential(authenticators, []),
          ...named,
          ...authorization,
          precondition,
          idempotencyKey,
          createCookieToken(cookies),
        ),
      },
      unreadable: of(...rights, precondition),
      open: of(...authorization),
    };
  };
}
