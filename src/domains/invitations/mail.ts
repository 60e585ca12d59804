import type { MailDraft } from "../people/index.ts";

/** Content of the mail of an invitation. */
export interface InvitationMail {
  /** Address of the page that shows the invitation. */
  url: string;
  role: string;
  /** Address of the sender; null for a credential. */
  invitedBy: string | null;
  /** Its lifetime. */
  lastsMs: number;
}

/** The mail of an invitation to the organization called `sender`. */
export function invitationMail(sender: string, { url, role, invitedBy, lastsMs }: InvitationMail): MailDraft {
  return {
    subject: `Invitation to ${sender}`,
    title: `Join ${sender}`,
    paragraphs: [`${invitedBy ?? "An administrator"} invites you to ${sender} with the role ${role}.`],
    action: { label: "See the invitation", url },
    notes: [
      `The invitation is good for ${period(lastsMs)}. ` +
        "The token in it can also be sent to POST /api/auth/invite/accept.",
      "If you do not know this organization, ignore this mail: nothing happens without you.",
    ],
  };
}

const UNITS = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
] as const;

/** A duration in the largest unit that divides it, minutes at the least. */
function period(ms: number): string {
  const [unit, name] = UNITS.find(([length]) => ms % length === 0) ?? UNITS[2];
  const count = Math.ceil(ms / unit);
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
