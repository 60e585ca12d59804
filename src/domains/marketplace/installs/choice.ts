import type { App } from "../apps/entities.ts";
import type { AppPlan } from "../apps/rules.ts";
import { marketplaceErrors } from "../errors.ts";

/** What a buyer chooses; each member is optional where the app offers one choice. */
export interface InstallChoice {
  deploymentMode: string | undefined;
  planId: string | undefined;
  quantity: number | undefined;
}

/**
 * The deployment mode a buyer chose, or the only one.
 * @throws {invalid_deployment_mode} when the app does not offer it, or offers several and none was chosen
 */
export function chosenMode(app: Pick<App, "deploymentModes">, mode: string | undefined): string {
  if (mode === undefined || mode === "") {
    const [only, ...others] = app.deploymentModes;
    if (only === undefined || others.length > 0)
      throw marketplaceErrors.invalidDeploymentMode({ message: "The app has several deployment modes; name one." });
    return only;
  }
  if (!app.deploymentModes.includes(mode)) throw marketplaceErrors.invalidDeploymentMode();
  return mode;
}

/**
 * The plan a buyer chose, or the first.
 * @throws {invalid_plan} when the app has no such plan
 */
export function chosenPlan(app: Pick<App, "plans">, planId: string | undefined): AppPlan {
  const plan =
    planId === undefined || planId === "" ? app.plans[0] : app.plans.find((candidate) => candidate.plan_id === planId);
  if (plan === undefined) throw marketplaceErrors.invalidPlan();
  return plan;
}
