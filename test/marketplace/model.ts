/** The life of an install, told once more and apart from the service: decisions 9.3 to 9.6. */
export interface Model {
  status: "provisioning" | "active" | "suspended" | "deprovisioning" | "deprovisioned";
  failed: boolean;
  /** Events of the timeline. */
  events: string[];
  /** Messages the publisher has got, without `install.`. */
  calls: string[];
}

/** What somebody does to an install. */
export type Deed = "give back" | "suspend" | "resume" | "report active" | "report failed" | "report deprovisioned";

/** Every deed. */
export const deeds: readonly Deed[] = [
  "give back",
  "suspend",
  "resume",
  "report active",
  "report failed",
  "report deprovisioned",
];

/** What the publisher will answer when it is asked next: statuses, the last of which settles the matter. */
export type Plan = readonly number[];

/** Attempts a notice is given: the length of the schedule. */
export const NOTICE_ATTEMPTS = 3;

/** An install that was just asked for; its publisher answers as planned. */
export function requested(plan: Plan): Model {
  const model: Model = { status: "provisioning", failed: false, events: ["requested"], calls: [] };
  for (const status of plan) {
    model.calls.push("provisioning");
    if (status === 200 || status === 201) settle(model, "active", "active");
    else if (status === 202) model.events.push("accepted");
    else if (status === 422 || status === 410) fail(model);
    else model.events.push("attempt_failed");
  }
  return model;
}

/** Does it: answers the status of the answer. What is refused changes nothing. */
export function act(model: Model, deed: Deed, plan: Plan): number {
  const { status } = model;
  switch (deed) {
    case "give back":
      if (status === "deprovisioned") return 409;
      if (status !== "deprovisioning") deprovision(model, plan);
      return 202;
    case "suspend":
    case "resume":
      if (status !== (deed === "suspend" ? "active" : "suspended")) return 409;
      notify(model, deed === "suspend" ? "suspended" : "active", deed === "suspend" ? "suspended" : "resumed", plan);
      return 200;
    default:
      return report(model, deed);
  }
}

function report(model: Model, deed: Deed): number {
  const told = deed.replace("report ", "");
  if (told === model.status || (told === "failed" && model.failed)) return 200;
  if (model.status === "provisioning" && told === "active") settle(model, "active", "active");
  else if (model.status === "provisioning" && told === "failed") fail(model);
  else if (model.status === "deprovisioning" && told === "deprovisioned")
    settle(model, "deprovisioned", "deprovisioned");
  else return 409;
  return 200;
}

function deprovision(model: Model, plan: Plan): void {
  settle(model, "deprovisioning", "deprovisioning");
  for (const status of plan) {
    model.calls.push("deprovisioning");
    if (status === 202) model.events.push("accepted");
    else if (status < 300 || status === 404 || status === 410) settle(model, "deprovisioned", "deprovisioned");
    else model.events.push("attempt_failed");
  }
}

function notify(model: Model, status: Model["status"], event: string, plan: Plan): void {
  settle(model, status, event);
  for (const [nth, answer] of plan.entries()) {
    model.calls.push(event);
    if (answer >= 200 && answer < 300) return;
    model.events.push("attempt_failed");
    if (nth + 1 === NOTICE_ATTEMPTS) model.events.push("notice_failed");
  }
}

function settle(model: Model, status: Model["status"], event: string): void {
  model.status = status;
  model.events.push(event);
}

function fail(model: Model): void {
  model.failed = true;
  settle(model, "deprovisioned", "failed");
}
