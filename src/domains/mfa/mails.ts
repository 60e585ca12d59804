import type { MailDraft } from "../people/index.ts";

/** How long a notice is tried to be delivered, milliseconds. */
export const NOTICE_MS = 3 * 24 * 60 * 60 * 1000;

const changes = {
  enrolled: [
    "A second factor was added",
    "An authenticator app was added to your account. From now on a sign-in asks for its code.",
  ],
  disabled: [
    "A second factor was removed",
    "An authenticator app was removed from your account; its codes are no longer accepted.",
  ],
  codes: [
    "New recovery codes were made",
    "New recovery codes were made for your account. The ones before are no longer accepted.",
  ],
  reset: [
    "Your second factors were removed",
    "An administrator removed every authenticator app and recovery code from your account, and signed you out everywhere.",
  ],
} as const satisfies Record<string, readonly [title: string, text: string]>;

/** The mail about a change of somebody's factors or recovery codes. */
export function factorMail(change: keyof typeof changes): MailDraft {
  const [title, text] = changes[change];
  const notes = [
    "If this was not you, or you did not ask for it, change your password, sign out everywhere and tell an administrator.",
  ];
  return { subject: title, title, paragraphs: [text], notes };
}

/** A link that answers a step-up challenge. `minutes`: how long it is good for. */
export function stepUpMail(baseUrl: string, link: { token: string; challengeId: string }, minutes: number): MailDraft {
  return {
    subject: "Confirm that it is you",
    title: "Confirm that it is you",
    paragraphs: [
      "You asked to do something that needs another proof. Use this link in the browser you are signed in with. It works once.",
    ],
    action: { label: "Confirm", url: `${baseUrl}/step-up?token=${link.token}&challenge_id=${link.challengeId}` },
    notes: [
      `The link is good for ${minutes} minutes. The token in it can also be sent to POST /api/auth/step-up/verify.`,
      "If you did not ask for it, somebody uses your session: sign out everywhere and change your password. Nobody can use the link without your session.",
    ],
  };
}
