/** States of an install (interface, Marketplace install). */
export type InstallStatus = "provisioning" | "active" | "suspended" | "deprovisioning" | "deprovisioned";

/** Requests to a publisher: to provision or deprovision, or a notice of suspension or resumption. */
export type InstallStepKind = "provision" | "deprovision" | "suspend" | "resume";

/** Type of the message of each request. */
export const STEP_MESSAGE: Readonly<Record<InstallStepKind, string>> = {
  provision: "install.provisioning",
  deprovision: "install.deprovisioning",
  suspend: "install.suspended",
  resume: "install.resumed",
};

/** States in which an install is live; an organization has at most one live install of an app. */
export const LIVE_INSTALL: readonly InstallStatus[] = ["provisioning", "active", "suspended", "deprovisioning"];

const MOVES: Readonly<Record<InstallStatus, readonly InstallStatus[]>> = {
  provisioning: ["active", "deprovisioning", "deprovisioned"],
  active: ["suspended", "deprovisioning"],
  suspended: ["active", "deprovisioning"],
  deprovisioning: ["deprovisioned"],
  deprovisioned: [],
};

/** Whether an install's status may change from one to another. */
export function mayMove(from: InstallStatus, to: InstallStatus): boolean {
  return MOVES[from].includes(to);
}

/** Kinds of timeline entries (decisions 9.3). */
export type TimelineEvent =
  | "requested"
  | "attempt_failed"
  | "accepted"
  | "active"
  | "failed"
  | "suspended"
  | "resumed"
  | "deprovisioning"
  | "forced"
  | "deprovisioned"
  | "notice_failed";

/** Entries that the statistics of an app count; an install has at most one of each. */
export const COUNTED_EVENTS = [
  "requested",
  "active",
  "failed",
  "deprovisioned",
] as const satisfies readonly TimelineEvent[];

/** Message of the errors on an install whose organization was deleted and that is not yet being deprovisioned. */
export const ORGANIZATION_DELETED = "The organization that installed the app was deleted.";
