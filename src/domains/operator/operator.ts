import { createOrganizationList } from "./organization-list.ts";
import { createSettings } from "./settings.ts";
import type { SettingsDeps } from "./settings.ts";

/** Dependencies of the operator's functions. */
export type OperatorDeps = SettingsDeps;

/** What the operator of the installation sees and sets. */
export function createOperator(deps: OperatorDeps) {
  const settings = createSettings(deps);
  return { settings, organizations: createOrganizationList(deps), tidy: { plans: settings.recordPlanEnds } };
}

/** The operator's functions as the server uses them. */
export type Operator = ReturnType<typeof createOperator>;
