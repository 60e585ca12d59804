import { Link } from "@tanstack/react-router";
import type { ExternalPage } from "../settings.ts";
import { ButtonAnchor } from "../widgets/Button.tsx";
import { Notice } from "../widgets/Notice.tsx";
import { Door } from "./Door.tsx";

/** After a sign-in whose link names a page outside this service: leads there only where the operator has named it. */
export const SignedIn = ({ to }: { to: ExternalPage }) => (
  <Door title="You are signed in" {...(to.isKnown && { about: `The link leads on to ${to.host}.` })}>
    {to.isKnown ? (
      <ButtonAnchor href={to.href} look="primary" wide>
        Continue to {to.host}
      </ButtonAnchor>
    ) : (
      <Notice kind="warn">The link names {to.host}, which this service does not know.</Notice>
    )}
    <Link to="/console">Go to the console</Link>
  </Door>
);
