import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { MfaService } from "../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { publicTransport } from "../session/transport.ts";
import { Button } from "../widgets/Button.tsx";
import { FormBody, Input } from "../widgets/form/Field.tsx";
import { FailureNotice, Notice } from "../widgets/Notice.tsx";
import { useCall } from "../widgets/use-call.ts";
import { Door } from "./Door.tsx";
import { SignedIn } from "./SignedIn.tsx";
import { clearPending, pendingSignIn } from "./sign-in-state.ts";
import { useEnter } from "./use-enter.ts";

/** Completes a sign-in with the second factor. */
export default function SecondFactor() {
  const navigate = useNavigate();
  const pending = pendingSignIn();
  const [recovery, setRecovery] = useState(false);
  const [code, setCode] = useState("");
  const [fault, setFault] = useState<string>();
  const challenge = useCall(MfaService.method.challengeTotp, {
    transport: publicTransport,
    onFailure: (failure) => failure.code === "unauthorized" && setCode(""),
  });
  const { enter, entering, external } = useEnter();

  if (external !== undefined) return <SignedIn to={external} />;
  if (pending === undefined && !entering)
    return (
      <Door title="Second factor" about="This sign-in has ended: the page was loaded again, or it took too long.">
        <Link to="/sign-in">Start over</Link>
      </Door>
    );

  async function submit(typed: string): Promise<void> {
    const value = typed.replaceAll(/\s/gu, "");
    if (value === "" || pending === undefined) return setFault("Enter a code.");
    const pair = await challenge.run({ mfaToken: pending.mfaToken, code: value, recovery });
    await enter(pair, pending.next);
  }

  const label = recovery ? "Recovery code" : "Authenticator code";
  return (
    <Door
      title="Second factor"
      about={
        recovery
          ? "Enter one of your recovery codes. Each works once."
          : "Enter the 6 digits that your authenticator shows."
      }
    >
      {challenge.failure !== undefined &&
        (challenge.failure.code === "unauthorized" ? (
          <Notice kind="bad" requestId={challenge.failure.requestId}>
            The code is wrong or was used before, or this sign-in has ended. After five wrong codes, start over.
          </Notice>
        ) : (
          <FailureNotice failure={challenge.failure} />
        ))}
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          void submit(code);
        }}
      >
        <Input
          key={label}
          label={label}
          value={code}
          error={fault}
          onChange={(value) => {
            setCode(value);
            setFault(undefined);
            if (!recovery && /^\s*\d{3}\s?\d{3}\s*$/u.test(value) && !challenge.busy) void submit(value);
          }}
          autoComplete="one-time-code"
          inputMode={recovery ? "text" : "numeric"}
          code={!recovery}
          large
          autoFocus
          spellCheck={false}
        />
        <Button type="submit" look="primary" wide busy={challenge.busy || entering}>
          Continue
        </Button>
        <Button look="quiet" wide onClick={() => setRecovery(!recovery)}>
          {recovery ? "Use the authenticator" : "Use a recovery code"}
        </Button>
        <Button
          look="quiet"
          wide
          onClick={() => {
            clearPending();
            void navigate({ to: "/sign-in" });
          }}
        >
          Start over
        </Button>
      </FormBody>
    </Door>
  );
}
