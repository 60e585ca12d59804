import { defineErrors, errors } from "../../platform/errors.ts";
import { inEveryPath } from "../policy.ts";
import type { Authenticators } from "./authenticators.ts";
import { callerOf } from "./step.ts";
import type { Step } from "./step.ts";

const appErrors = defineErrors({
  appNotFound: [404, "app_not_found", "No such app."],
});

/**
 * Refuses callers who do not administer the app that the request names: 403 for members of its organization, 404 for
 * others.
 */
export function createAppAdministrator(authenticators: Authenticators): Step {
  return {
    name: "app-administrator",
    applies: (policy) => policy.app !== undefined,
    run(policy, call, params) {
      const appId = policy.app === undefined ? undefined : params.text(policy.app);
      if (appId === undefined) return undefined;
      return authenticators.appAdmin(callerOf(call), appId).then((relation) => {
        if (relation === undefined) throw appErrors.appNotFound();
        if (relation === "own") throw errors.forbidden({ message: "This needs an administrator of the app." });
      });
    },
  };
}

/** The same check after the body, where only the body or the query names the app. */
export function createBodyAppAdministrator(authenticators: Authenticators): Step {
  return {
    name: "body-app-administrator",
    applies: (policy) => policy.app !== undefined && !inEveryPath(policy, policy.app),
    run: createAppAdministrator(authenticators).run,
  };
}
