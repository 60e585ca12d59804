import { defineErrors } from "../../platform/errors.ts";
import { badSignature } from "../../platform/outgoing/signature.ts";

/** Errors of the marketplace (decisions 1.6). */
export const marketplaceErrors = defineErrors({
  appNotFound: [404, "app_not_found", "No such app."],
  installNotFound: [404, "install_not_found", "No such install."],
  slugTaken: [409, "slug_taken", "This slug is in use, or was once; slugs are never issued again."],
  tooManyDrafts: [409, "conflict", "The organization has 200 drafts; have them decided on, or archive some."],
  alreadyInstalled: [409, "already_installed", "The organization already has a live install of this app."],
  invalidTransition: [409, "invalid_transition", "The present status does not allow this."],
  invalidDeploymentMode: [
    400,
    "invalid_deployment_mode",
    "The app is not offered in this deployment mode; name one of its deployment_modes.",
  ],
  invalidPlan: [400, "invalid_plan", "The app has no such plan; see plans of the app."],
  userNotFound: [404, "user_not_found", "No such member of the publishing organization, or no such administrator."],
  grantExists: [409, "grant_exists", "This person administers the app already."],
  listed: [409, "conflict", "The app lists this product and plan on this marketplace already.", "duplicate"],
  targetNotFound: [404, "target_not_found", "No such cloud target."],
  badSignature,
});
