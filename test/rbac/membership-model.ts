/** A membership, as the model of decisions 2.4 knows it. */
export interface Membership {
  role: number;
  isOwner: boolean;
  status: "active" | "inactive" | "removed";
}

/** Who sends a request: a person by number, with what kind of credential. A key is of the person who made it. */
export interface Actor {
  person: number;
  by: "token" | "elevated" | "key";
}

/** A request about a member. */
export type Wish =
  | { kind: "role"; route: "native" | "v2"; role: number }
  | { kind: "patch"; status?: "active" | "inactive"; isOwner?: boolean }
  | { kind: "delete" }
  | { kind: "invite"; role: number };

/** Outcome of a request as the rules give it: `2xx`, or status and code; and what has become of the member. */
export interface Verdict {
  outcome: string;
  after: Membership | undefined;
}

const ADMIN = 1;
const refused = (outcome: string): Verdict => ({ outcome, after: undefined });

/** Roles of a person's present power: the role admin, and owners, are administrators. */
const isAdmin = ({ role, isOwner }: Membership): boolean => isOwner || role === ADMIN;

/** What a change would make of a membership. */
function changed(before: Membership, wish: Wish): Membership {
  if (wish.kind === "delete") return { ...before, isOwner: false, status: "removed" };
  if (wish.kind === "patch") {
    const status = wish.status ?? before.status;
    if (wish.isOwner === true) return { role: ADMIN, isOwner: true, status };
    return { ...before, isOwner: wish.isOwner === undefined && before.isOwner, status };
  }
  return { ...before, role: wish.role, isOwner: before.isOwner && wish.role === ADMIN };
}

/** Judges a request by the text of decisions 2.4, and by the order of refusals of 1.7. The actor is active. */
export function judge(members: readonly Membership[], actor: Actor, target: number, wish: Wish): Verdict {
  const [own, before] = [members[actor.person] as Membership, members[target] as Membership];
  const leaves = wish.kind === "delete" && actor.by !== "key" && actor.person === target;
  if (!isAdmin(own) && !leaves) return refused("403 forbidden");
  // A key is nobody's ownership.
  const actsAsOwner = own.isOwner && actor.by !== "key";
  if (wish.kind === "patch" && wish.isOwner !== undefined) {
    if (!actsAsOwner) return refused("403 forbidden");
    if (actor.by !== "elevated") return refused("403 step_up_required");
  }
  if (wish.kind === "invite") {
    if (before.status !== "removed") return refused("409 email_taken");
    return { outcome: "2xx", after: { role: wish.role, isOwner: false, status: "active" } };
  }
  if (before.status === "removed") return refused("404 user_not_found");
  if (before.isOwner && !actsAsOwner) return refused("403 forbidden");
  const after = changed(before, wish);
  if (wish.kind === "patch" && wish.isOwner === true && after.status !== "active") return refused("409 conflict");
  const others = members.filter((one, at) => at !== target && one.isOwner && one.status === "active");
  const wasOwner = before.isOwner && before.status === "active";
  const staysOwner = after.isOwner && after.status === "active";
  if (wasOwner && !staysOwner && others.length === 0) return refused("409 last_owner");
  return { outcome: "2xx", after };
}

/** Whether two memberships are the same: then what was issued before stays good. */
export const isSame = (one: Membership, other: Membership): boolean =>
  one.role === other.role && one.isOwner === other.isOwner && one.status === other.status;
