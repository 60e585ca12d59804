import type { MailDraft } from "../people/index.ts";

/** What an invitation's mail says. */
export interface InvitationMail {
  /** Address of the page that shows the invitation. */
  url: string;
  role: string;
  /** Email of who invites; null where a credential did. */
  invitedBy: string | null;
  /** How long it is good for. */
  lastsMs: number;
}

/** An invitation to an organization, whose name is `sender`. */
export function invitationMail(sender: string, { url, role, invitedBy, lastsMs }: InvitationMail): MailDraft {
  return {
    subject: `Invitation to ${sender}`,
    title: `Join ${sender}`,
    paragraphs: [`${invitedBy ?? "An administrator"} invites you to ${sender} with the role ${role}.`],
    action: { label: "See the invitation", url },
    notes: [
      `The invitation is good for ${period(lastsMs)}. The token in it can also be sent to POST /api/auth/invite/accept.`,
      "If you do not know this organization, ignore this mail: nothing happens without you.",
    ],
  };
}

const units = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
] as const;

/** A time in the largest unit that measures it, in minutes at the least. */
function period(ms: number): string {
  const [unit, name] = units.find(([length]) => ms % length === 0) ?? units[2];
  const count = Math.ceil(ms / unit);
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
