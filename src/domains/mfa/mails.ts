import { layOutMail } from "../../platform/outgoing/layout.ts";
import type { Mail } from "../../platform/outgoing/mailbox.ts";

/** A link that answers a step-up challenge. `minutes`: how long it is good for. */
export function stepUpMail(to: string, baseUrl: string, link: { token: string; challengeId: string }, orgName: string | null, minutes: number): Mail {
  const content = {
    title: "Confirm that it is you",
    paragraphs: ["You asked to do something that needs another proof. Use this link in the browser you are signed in with. It works once."],
    action: { label: "Confirm", url: `${baseUrl}/step-up?token=${link.token}&challenge_id=${link.challengeId}` },
    notes: [
      `The link is good for ${minutes} minutes. The token in it can also be sent to POST /api/auth/step-up/verify.`,
      "If you did not ask for it, somebody uses your session: sign out everywhere and change your password. Nobody can use the link without your session.",
    ],
    organization: orgName ?? "Atrium",
  };
  return { to, subject: "Confirm that it is you", ...layOutMail(content) };
}
