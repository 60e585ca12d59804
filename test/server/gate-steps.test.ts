import { expect, it } from "vitest";
import { services } from "../../gen/services.ts";
import { UsersService } from "../../gen/atrium/users/v1/users_pb.ts";
import { createStepLists, takesCredential } from "../../src/server/gate/index.ts";
import type { StepLists } from "../../src/server/gate/index.ts";
import { compilePolicies } from "../../src/server/policy.ts";
import { createRates } from "../../src/server/rates.ts";

const unused = (): never => {
  throw new Error("listing steps authenticates nobody");
};

const policies = [...compilePolicies(services).values()];
const stepsOf = createStepLists({
  authenticators: {
    bearer: unused,
    recheck: unused,
    svid: unused,
    recheckSvid: unused,
    scim: unused,
    appAdmin: unused,
  },
  rates: createRates({ take: unused }, true),
  preconditions: new Map([[UsersService.method.createOrganization, () => undefined]]),
  cookies: { allows: unused, tokenOf: unused, moving: unused },
});

/** The order of refusals (decisions 1.7), as far as the gate decides them. */
const ORDER = [
  "publisher-signature",
  "authenticate",
  "authenticate-if-present",
  "general-rate-limit",
  "renew-credential",
  "device-header",
  "path-ids",
  "tenant",
  "query-tenant",
  "body-tenant",
  "app-administrator",
  "body-app-administrator",
  "cookie-mode",
  "person-only",
  "organization",
  "scope",
  "powers",
  "elevation",
  "evaluate-precondition",
  "domain-precondition",
  "idempotency-key",
  "cookie-token",
];

const namesOf = (steps: StepLists["beforeBody"]): string[] => steps.map(({ name }) => name);

it("every rpc runs its gate steps in the order of refusals, over every protocol", () => {
  for (const policy of policies) {
    const { path, message, unreadable, open } = stepsOf(policy);
    for (const list of [path.beforeBody, path.afterBody, message.beforeBody, message.afterBody, unreadable, open]) {
      const names = namesOf(list);
      expect(names, policy.rpc).toEqual(ORDER.filter((name) => names.includes(name)));
    }
  }
});

it("every rpc runs the same authorization steps over REST and over the other protocols", () => {
  const perProtocol = new Set(["renew-credential", "query-tenant", "body-tenant", "body-app-administrator"]);
  const stepsIn = ({ beforeBody, afterBody }: StepLists): string[] =>
    [...namesOf(beforeBody), ...namesOf(afterBody)].filter((name) => !perProtocol.has(name)).sort();
  for (const policy of policies) {
    const { path, message } = stepsOf(policy);
    expect(stepsIn(path), policy.rpc).toEqual(stepsIn(message));
  }
});

it("every rpc with a credential authenticates before any other step and renews the credential after the body", () => {
  const guarded = policies.filter(takesCredential);
  expect(guarded.length).toBeGreaterThan(100);
  for (const policy of guarded) {
    const { path, message } = stepsOf(policy);
    for (const { beforeBody, afterBody } of [path, message]) {
      expect(beforeBody[0]?.name, policy.rpc).toBe("authenticate");
      expect(afterBody[0]?.name, policy.rpc).toBe("renew-credential");
    }
  }
});

it("the steps of an rpc are declared in the order in which they refuse", () => {
  const policy = policies.find(({ rpc }) => rpc === "atrium.users.v1.UsersService/UpdateUser");
  expect(policy && namesOf(stepsOf(policy).path.beforeBody)).toEqual([
    "authenticate",
    "general-rate-limit",
    "device-header",
    "path-ids",
    "organization",
    "scope",
    "powers",
  ]);
});
