import { defineErrors } from "../../platform/errors.ts";

/** Errors of people. */
export const peopleErrors = defineErrors({
  emailTaken: [
    409,
    "email_taken",
    "Somebody signed up with this email; sign in and create the organization with your token.",
  ],
  usernameTaken: [409, "username_taken", "Somebody has this username; choose another."],
  notFound: [404, "not_found", "Nobody has this email."],
});
