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
