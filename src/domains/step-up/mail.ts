import type { MailDraft } from "../people/index.ts";

/** The mail with a link that answers a step-up challenge. `minutes`: its lifetime. */
export function stepUpMail(baseUrl: string, link: { token: string; challengeId: string }, minutes: number): MailDraft {
  return {
    subject: "Confirm that it is you",
    title: "Confirm that it is you",
    paragraphs: [
      "You asked to do something that needs another proof. " +
        "Use this link in the browser you are signed in with. It works once.",
    ],
    action: { label: "Confirm", url: `${baseUrl}/step-up#token=${link.token}&challenge_id=${link.challengeId}` },
    notes: [
      `The link is good for ${minutes} minutes. The token in it can also be sent to POST /api/auth/step-up/verify.`,
      "If you did not ask for it, somebody uses your session: sign out everywhere and change your password. " +
        "Nobody can use the link without your session.",
    ],
  };
}
