import { Link, Navigate, useSearch } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { useState } from "react";
import { testStatePrefix } from "../session/sign-in-test.ts";
import { settings } from "../settings.ts";
import { useSession } from "../session/use-session.ts";
import { Facts } from "../widgets/Page.tsx";
import { Door, doorStyle } from "./Door.tsx";
import { SignInTested } from "./SignInTested.tsx";
import { FinishConnection } from "./FinishConnection.tsx";
import { takeReturn } from "./oidc.ts";

/** The start page of the service. */
export default function Start() {
  const session = useSession();
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  // Kept, as the address loses it at once.
  const [tested] = useState(() => (search["state"]?.startsWith(testStatePrefix) ? search["state"] : undefined));
  const [returned] = useState(() => (tested === undefined ? takeReturn() : undefined));
  if (tested !== undefined) return <SignInTested state={tested} />;
  if (returned !== undefined) return <FinishConnection returned={returned} />;
  if (session.status === "in") return <Navigate to="/console" replace />;
  const { firstLogin, mailbox, openSignup, version } = settings;
  const arrow = <ArrowRight size={16} aria-hidden />;
  return (
    <Door
      title="Atrium"
      about="Identity, access, marketplace and billing for multi-tenant SaaS."
      foot={`Version ${version}`}
    >
      <div className={doorStyle["links"]}>
        <Link to="/sign-in">Sign in{arrow}</Link>
        {openSignup && <Link to="/sign-up">Create an organization{arrow}</Link>}
        <a href="docs/api">API reference{arrow}</a>
        <a href="docs">Guides{arrow}</a>
        {mailbox && <a href="dev/mailbox">Mailbox{arrow}</a>}
      </div>
      {firstLogin !== undefined && (
        <Facts>
          {[
            ["First login", firstLogin.email],
            ["Organization", firstLogin.org],
            ["Password", firstLogin.password],
          ]}
        </Facts>
      )}
    </Door>
  );
}
