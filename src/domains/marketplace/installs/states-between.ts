import type { Install } from "./entities.ts";
import type { InstallView } from "./read-install.ts";
import type { InstallStatus, TimelineEvent } from "./rules.ts";
import type { TimelineEntry } from "./timeline-store.ts";

/** Status of an install after an event; events that are not listed keep the status. */
const STATUS_AFTER: Readonly<Partial<Record<TimelineEvent, InstallStatus>>> = {
  active: "active",
  failed: "deprovisioned",
  suspended: "suspended",
  resumed: "active",
  deprovisioning: "deprovisioning",
  deprovisioned: "deprovisioned",
};

const isSame = (a: TimelineEntry | undefined, b: TimelineEntry): boolean =>
  a?.event === b.event && a.at.getTime() === b.at.getTime();

/** The entries of `after` from this index on are newer than those of `before`; its length when that is not known. */
function firstNew(before: InstallView, after: readonly TimelineEntry[]): number {
  const last = before.timeline?.at(-1);
  const known = after.findLastIndex((entry) => isSame(last, entry));
  return known === -1 ? after.length : known + 1;
}

/** The install as it was after one of its timeline's entries. */
function stateAfter(nth: number, status: InstallStatus, before: Install, { install, app, timeline }: InstallView) {
  const isActivated = before.status !== "provisioning" || status !== "provisioning";
  const past = Object.create(install, {
    status: { value: status },
    endpointUrl: { value: isActivated ? install.endpointUrl : before.endpointUrl },
    failureReason: { value: before.failureReason },
    updatedAt: { value: timeline?.[nth]?.at },
  }) as Install;
  return { install: past, app, timeline: timeline?.slice(0, nth + 1) ?? [] };
}

/**
 * The states of an install between two reads, oldest first, made from its timeline: changes may follow each other
 * faster than they are read. Entries of one moment belong to one change.
 */
export function statesBetween(before: InstallView, after: InstallView): InstallView[] {
  const entries = after.timeline ?? [];
  const states: InstallView[] = [];
  let status = before.install.status;
  for (let nth = firstNew(before, entries); nth < entries.length - 1; nth++) {
    const [entry, next] = [entries[nth], entries[nth + 1]];
    if (entry === undefined || next === undefined) break;
    status = STATUS_AFTER[entry.event] ?? status;
    if (next.at.getTime() !== entry.at.getTime()) states.push(stateAfter(nth, status, before.install, after));
  }
  return states;
}
