/**
 * A page that a mailed link opens. Opening it has no effect, because mail scanners open links: a person has to press
 * the button.
 */
export interface Landing {
  title: string;
  text: string;
  button: string;
  /** The action cannot be undone. */
  grave?: boolean;
  /** Route the token is posted to, relative to the page; empty: the token is shown, to be copied. */
  action: string;
  /** Title and text after the action. */
  doneTitle: string;
  done: string;
  /** Fields that are sent with the token, except empty ones. */
  fields?: readonly Field[];
  /** Route that describes the token, which is appended to it; its response becomes the text of the page. */
  about?: string;
}

/** A form field of a page. */
export interface Field {
  name: string;
  label: string;
  /** Attributes of the input. */
  input: string;
}

const NEW_PASSWORD = `type="password" autocomplete="new-password" minlength="8" maxlength="1024" required`;

/** The pages, by path. */
export const LANDINGS: Readonly<Record<string, Landing>> = {
  "/magic-link": {
    title: "Sign in",
    text: "Press the button to sign in. The link works once.",
    button: "Sign in",
    action: "api/auth/magic-link/verify",
    doneTitle: "Signed in",
    done: "You are signed in",
  },
  "/confirm-email": {
    title: "Confirm your address",
    text: "Press the button to confirm that this mailbox is yours and that you made the account.",
    button: "Confirm address",
    action: "api/auth/email/confirm",
    doneTitle: "Address confirmed",
    done: "Your address is confirmed. You can close this page.",
  },
  "/disown-email": {
    title: "End an account that is not yours",
    text: "Somebody made an account with your address, which was never confirmed. Ending it signs everybody out of it and deletes the organizations that nobody else belongs to. This cannot be undone.",
    button: "End the account",
    grave: true,
    action: "api/auth/email/disown",
    doneTitle: "Account ended",
    done: "The account has ended and your address is free. You can close this page.",
  },
  "/reset-password": {
    title: "Set a new password",
    text: "Choose a password of at least 8 characters. You are signed out everywhere then, and sign in with the new one.",
    button: "Set password",
    action: "api/auth/password/reset",
    doneTitle: "Password set",
    done: "Your password is set. You can close this page and sign in.",
    fields: [{ name: "password", label: "New password", input: `${NEW_PASSWORD} autofocus` }],
  },
  "/step-up": {
    title: "Confirm that it is you",
    text: "Press the button for a code, and paste it where you were asked for it. It works once, in your session alone.",
    button: "Show the code",
    action: "",
    doneTitle: "",
    done: "",
  },
  "/invite": {
    title: "Join an organization",
    text: "If you have an account with this email, its present password is all that is needed.",
    button: "Accept",
    action: "api/auth/invite/accept",
    doneTitle: "Welcome",
    done: "You have joined. You can close this page and sign in.",
    fields: [
      { name: "first_name", label: "First name", input: `autocomplete="given-name" maxlength="100"` },
      { name: "last_name", label: "Last name", input: `autocomplete="family-name" maxlength="100"` },
      { name: "username", label: "Username", input: `autocomplete="username" maxlength="64"` },
      { name: "password", label: "Password", input: NEW_PASSWORD },
      { name: "phone", label: "Phone, such as +4915112345678 (optional)", input: `type="tel" autocomplete="tel"` },
    ],
    about: "api/auth/invite/",
  },
};
