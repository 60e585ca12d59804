import { layOutMail } from "../../platform/outgoing/layout.ts";
import type { Mail } from "../../platform/outgoing/mailbox.ts";

/** What an invitation's mail says. */
export interface InvitationLetter {
  to: string;
  baseUrl: string;
  /** Token of the invitation, a UUID. */
  token: string;
  orgName: string;
  role: string;
  /** Email of who invites; null where a credential did. */
  invitedBy: string | null;
  /** How long it is good for. */
  lastsMs: number;
}

/** An invitation to an organization. */
export function invitationMail({ to, baseUrl, token, orgName, role, invitedBy, lastsMs }: InvitationLetter): Mail {
  const title = `Join ${orgName}`;
  const content = {
    title,
    paragraphs: [`${invitedBy ?? "An administrator"} invites you to ${orgName} with the role ${role}.`],
    action: { label: "See the invitation", url: `${baseUrl}/invite?token=${token}` },
    notes: [
      `The invitation is good for ${period(lastsMs)}. The token in it can also be sent to POST /api/auth/invite/accept.`,
      "If you do not know this organization, ignore this mail: nothing happens without you.",
    ],
    organization: orgName,
  };
  return { to, subject: `Invitation to ${orgName}`, ...layOutMail(content) };
}

const units = [[86_400_000, "day"], [3_600_000, "hour"], [60_000, "minute"]] as const;

/** A time in the largest unit that measures it, in minutes at the least. */
function period(ms: number): string {
  const [unit, name] = units.find(([length]) => ms % length === 0) ?? units[2];
  const count = Math.ceil(ms / unit);
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
