import { layOutMail } from "../../platform/outgoing/layout.ts";
import type { MailContent } from "../../platform/outgoing/layout.ts";
import type { Mail } from "../../platform/outgoing/mailbox.ts";

/** Name the service signs its mails with. */
const sender = "Atrium";

/** A link to sign in with. `minutes`: how long it is good for. */
export function magicLinkMail(to: string, baseUrl: string, token: string, minutes: number): Mail {
  return letter(to, "Sign in to Atrium", {
    title: "Sign in to Atrium",
    paragraphs: ["Use this link to sign in. It works once."],
    action: { label: "Sign in", url: `${baseUrl}/magic-link?token=${token}` },
    notes: [
      `The link is good for ${minutes} minutes. The token in it can also be sent to POST /api/auth/magic-link/verify.`,
      "If you did not ask for it, ignore this mail: nobody can sign in without the link.",
    ],
    organization: sender,
  });
}

/** A code to sign in with. `minutes`: how long it is good for. */
export function codeMail(to: string, code: string, minutes: number): Mail {
  return letter(to, "Your sign-in code", {
    title: "Your sign-in code",
    paragraphs: ["Type this code where you are signing in. It works once."],
    code,
    notes: [`The code is good for ${minutes} minutes.`, "If you did not ask for it, ignore this mail, and tell the code to nobody."],
    organization: sender,
  });
}

/** A link to set a new password. `minutes`: how long it is good for. */
export function resetMail(to: string, baseUrl: string, token: string, minutes: number): Mail {
  return letter(to, "Set a new password", {
    title: "Set a new password",
    paragraphs: ["Use this link to set a new password for your account. It works once, and signs you out everywhere."],
    action: { label: "Set a new password", url: `${baseUrl}/reset-password?token=${token}` },
    notes: [
      `The link is good for ${minutes} minutes. The token in it can also be sent to POST /api/auth/password/reset.`,
      "If you did not ask for it, ignore this mail: your password stays as it is.",
    ],
    organization: sender,
  });
}

/** What somebody without an account gets who asks for a new password. */
export function nobodyMail(to: string): Mail {
  return letter(to, "Set a new password", {
    title: "No account with this address",
    paragraphs: ["Somebody asked for a new password for this address, but no account has it. You may have signed up with another one."],
    notes: ["If you did not ask for it, ignore this mail."],
    organization: sender,
  });
}

/** A link that confirms the address of a sign-up. `days`: how long it is good for. */
export function confirmationMail(to: string, baseUrl: string, token: string, orgName: string, days: number): Mail {
  return letter(to, "Confirm your email address", {
    title: "Confirm your email address",
    paragraphs: [`An account was made for you as owner of ${orgName}.`, "Confirm that this is your mailbox."],
    action: { label: "Confirm address", url: `${baseUrl}/confirm-email?token=${token}` },
    notes: [
      `The link is good for ${days} days.`,
      "If you did not sign up, do not confirm. Signing in by magic link takes the account over and ends the password set for it.",
    ],
    organization: orgName,
  });
}

function letter(to: string, subject: string, content: MailContent): Mail {
  return { to, subject, ...layOutMail(content) };
}
