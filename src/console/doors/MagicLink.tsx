import { Link } from "@tanstack/react-router";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { linkToken } from "../session/link-token.ts";
import { publicTransport } from "../session/transport.ts";
import { Button } from "../widgets/Button.tsx";
import { FailureNotice, Notice } from "../widgets/Notice.tsx";
import { useCall } from "../widgets/use-call.ts";
import { Door } from "./Door.tsx";
import { LinkIncomplete } from "./LinkIncomplete.tsx";
import { SignedIn } from "./SignedIn.tsx";
import { useEnter } from "./use-enter.ts";

/** Signs in by a mailed link. Opening the page spends nothing: mail scanners open links too. */
export default function MagicLink() {
  const token = linkToken()?.token;
  const verify = useCall(LoginService.method.verifyMagicLink, { transport: publicTransport });
  const { enter, entering, external } = useEnter();
  if (external !== undefined) return <SignedIn to={external} />;
  if (token === undefined) return <LinkIncomplete title="Sign in" />;
  return (
    <Door title="Sign in" about="Press the button to sign in. The link works once.">
      {verify.failure !== undefined &&
        (verify.failure.code === "unauthorized" ? (
          <Notice kind="bad" requestId={verify.failure.requestId}>
            The link has expired or was used before. Ask for a new one.
          </Notice>
        ) : (
          <FailureNotice failure={verify.failure} />
        ))}
      <Button
        look="primary"
        wide
        busy={verify.busy || entering}
        onClick={() => void verify.run({ token }).then((answer) => enter(answer, answer?.redirectTo))}
      >
        Sign in
      </Button>
      {verify.failure !== undefined && <Link to="/sign-in">Go to sign-in</Link>}
    </Door>
  );
}
