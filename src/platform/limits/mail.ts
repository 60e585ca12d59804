import type { Budget } from "./budget.ts";

const MINUTE_MS = 60_000;

/** Mails of every kind to one address: codes, links, password resets and invitations (decisions 13). */
export const MAILS_PER_EMAIL: Budget = { name: "mail_email", limit: 3, windowMs: 10 * MINUTE_MS, sliding: false };

/** Changes of one person's second factors and recovery codes, each of which is mailed to them. */
export const FACTOR_CHANGES: Budget = { name: "factor_changes", limit: 20, windowMs: 60 * MINUTE_MS, sliding: false };

/** Invitations of one organization, by any of its members. */
export const INVITATIONS_PER_ORGANIZATION: Budget = {
  name: "invitations",
  limit: 200,
  windowMs: 60 * MINUTE_MS,
  sliding: false,
};
