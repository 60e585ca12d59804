import type { GetMeResponse } from "../../gen/atrium/access/v1/access_pb.ts";

/** The power that a page takes: what the caller's `/me` must say for its calls to succeed. The server decides. */
export type Power = "anyone" | "member" | "employee" | "admin" | "publisher" | "platform" | "operator" | "runs";

const HOLDS: Readonly<Record<Power, (me: GetMeResponse) => boolean>> = {
  anyone: () => true,
  member: (me) => me.orgUuid !== undefined,
  employee: (me) =>
    me.orgUuid !== undefined && me.roles.some((role) => role !== "observer" && role !== "limited_access"),
  admin: (me) => me.orgUuid !== undefined && me.scopes.includes("admin"),
  publisher: (me) => HOLDS.employee(me) || me.appAdmin.length > 0,
  platform: (me) => me.platformAdmin,
  operator: (me) => me.scopes.includes("operator"),
  runs: (me) => HOLDS.platform(me) || HOLDS.operator(me),
};

/** What each power is, and who has it. */
const POWER_WORDS: Readonly<Record<Power, string>> = {
  anyone: "",
  member: "It is for members of an organization. Ask the admins of one to invite you, or create your own.",
  employee: "It takes the role employee or above. The admins of your organization give roles.",
  admin: "It takes the role admin. The owners and admins of your organization have it, and can give it to you.",
  publisher:
    "It takes the role employee or above, or administration of an app. The admins of your organization give both.",
  platform: "It takes platform administration, which the operator of this installation gives.",
  operator: "It takes the power of an operator, which those who run this installation have.",
  runs: "It takes platform administration, or the power of an operator. Those who run this installation have both.",
};

/** What the page "You cannot see this page" says. Nobody gives a role to those who belong to no organization. */
export const powerWords = (power: Power, me: GetMeResponse): string =>
  POWER_WORDS[me.orgUuid === undefined && OF_MEMBERS.has(power) ? "member" : power];

const OF_MEMBERS: ReadonlySet<Power> = new Set(["employee", "admin", "publisher"]);

export const holds = (me: GetMeResponse, power: Power): boolean => HOLDS[power](me);
