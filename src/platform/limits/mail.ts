import type { Budget } from "./budget.ts";

const MINUTE_MS = 60_000;

/** Mails to one email, whatever they are: codes, links, password resets and invitations share it (decisions 13). */
export const MAILS_PER_EMAIL: Budget = { name: "mail_email", limit: 3, windowMs: 10 * MINUTE_MS, sliding: false };

/** Invitations of one organization, whoever makes them. */
export const INVITATIONS_PER_ORGANIZATION: Budget = {
  name: "invitations",
  limit: 200,
  windowMs: 60 * MINUTE_MS,
  sliding: false,
};
