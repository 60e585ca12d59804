import type { MailDraft } from "../people/index.ts";

/** A link to sign in. */
export interface SignInLink {
  url: string;
  /** Its lifetime. */
  minutes: number;
  /** Signing in by it also makes the recipient a member of the organization. */
  joins: boolean;
}

/** The mail with a link to sign in; `sender` is the organization it concerns. */
export function magicLinkMail(sender: string, { url, minutes, joins }: SignInLink): MailDraft {
  const joining =
    `The link also joins ${sender}: when you sign in with it, ` +
    "you become a member of that organization, with the role employee.";
  return {
    subject: joins ? `Sign in to ${sender} and join it` : `Sign in to ${sender}`,
    title: joins ? `Sign in to ${sender} and join it` : `Sign in to ${sender}`,
    paragraphs: ["Use this link to sign in. It works once.", ...(joins ? [joining] : [])],
    action: { label: joins ? "Sign in and join" : "Sign in", url },
    notes: [
      `The link is good for ${minutes} minutes. The token in it can also be sent to POST /api/auth/magic-link/verify.`,
      joins
        ? `If you did not ask for it, or do not want to join ${sender}, ` +
          "ignore this mail: nothing happens without the link."
        : "If you did not ask for it, ignore this mail: nobody can sign in without the link.",
    ],
  };
}

/** The mail with a code to sign in. `minutes`: its lifetime. */
export function codeMail(sender: string, code: string, minutes: number): MailDraft {
  return {
    subject: `Your sign-in code for ${sender}`,
    title: `Your sign-in code for ${sender}`,
    paragraphs: ["Type this code where you are signing in. It works once."],
    code,
    notes: [
      `The code is good for ${minutes} minutes.`,
      "If you did not ask for it, ignore this mail, and tell the code to nobody.",
    ],
  };
}

/** The mail with a link to set a new password. `minutes`: its lifetime. */
export function resetMail(url: string, minutes: number): MailDraft {
  return {
    subject: "Set a new password",
    title: "Set a new password",
    paragraphs: ["Use this link to set a new password for your account. It works once, and signs you out everywhere."],
    action: { label: "Set a new password", url },
    notes: [
      `The link is good for ${minutes} minutes. The token in it can also be sent to POST /api/auth/password/reset.`,
      "If you did not ask for it, ignore this mail: your password stays as it is.",
    ],
  };
}

/** The mail to an address without an account that asked for a new password. */
export function noAccountMail(): MailDraft {
  return {
    subject: "Set a new password",
    title: "No account with this address",
    paragraphs: [
      "Somebody asked for a new password for this address, but no account has it. " +
        "You may have signed up with another one.",
    ],
    notes: ["If you did not ask for it, ignore this mail."],
  };
}

/** The mail with the link that confirms the address of a sign-up. `days`: its lifetime. */
export function confirmationMail(sender: string, url: string, days: number): MailDraft {
  return {
    subject: "Confirm your email address",
    title: "Confirm your email address",
    paragraphs: [
      `An account was made with this address, as owner of the organization ${sender}.`,
      "Confirm that this is your mailbox and that you made the account.",
    ],
    action: { label: "Confirm address", url },
    notes: [
      `The link is good for ${days} days. The token in it can also be sent to POST /api/auth/email/confirm.`,
      "If you did not sign up, do not confirm.",
    ],
  };
}
