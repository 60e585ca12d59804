import type { MailDraft } from "../people/index.ts";

/** How long delivery of a notice is retried. */
export const NOTICE_MS = 3 * 24 * 60 * 60 * 1000;

const CHANGES = {
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
    "An administrator removed every authenticator app and recovery code from your account, " +
      "and signed you out everywhere.",
  ],
} as const satisfies Record<string, readonly [title: string, text: string]>;

/** The mail about a change of a person's factors or recovery codes. */
export function factorMail(change: keyof typeof CHANGES): MailDraft {
  const [title, text] = CHANGES[change];
  const notes = [
    "If this was not you, or you did not ask for it, change your password, " +
      "sign out everywhere and tell an administrator.",
  ];
  return { subject: title, title, paragraphs: [text], notes };
}
