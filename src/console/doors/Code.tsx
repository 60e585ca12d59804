import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { publicTransport } from "../session/transport.ts";
import { localPath } from "../settings.ts";
import { useCountdown } from "../widgets/use-countdown.ts";
import { Button } from "../widgets/Button.tsx";
import { FormBody, Input } from "../widgets/form/Field.tsx";
import { FailureNotice, Notice } from "../widgets/Notice.tsx";
import { useCall } from "../widgets/use-call.ts";
import { clock } from "../widgets/words.ts";
import { Door } from "./Door.tsx";
import { useEnter } from "./use-enter.ts";

const AGAIN_S = 30;

/** Signs in by a mailed code. */
export default function Code() {
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const email = search["email"] ?? "";
  const [code, setCode] = useState("");
  const [sent, setSent] = useState(0);
  const verify = useCall(LoginService.method.verifyOtp, {
    transport: publicTransport,
    onFailure: (failure) => failure.code === "unauthorized" && setCode(""),
  });
  const send = useCall(LoginService.method.sendOtp, { transport: publicTransport });
  // Where no mail was sent, there is none to wait for.
  const left = useCountdown(
    send.busy ? 0 : send.failure === undefined ? AGAIN_S : (send.failure.retryAfter ?? 0),
    send.failure ?? sent,
  );
  const { enter, entering } = useEnter();
  if (email === "")
    return (
      <Door title="Enter the code" about="The address does not say who signs in. Ask for a code once more.">
        <Link to="/sign-in">Go to sign-in</Link>
      </Door>
    );

  async function submit(typed: string): Promise<void> {
    const answer = await verify.run({ email, code: typed.replaceAll(/\s/gu, ""), orgName: search["org"] });
    await enter(answer, localPath(search["next"]));
  }

  return (
    <Door
      title="Enter the code"
      about={`If ${email} can sign in, a mail with 6 digits is on its way.`}
      foot={<Link to="/sign-in">Go to sign-in</Link>}
    >
      {verify.failure !== undefined &&
        (verify.failure.code === "unauthorized" ? (
          <Notice kind="bad" requestId={verify.failure.requestId}>
            The code is wrong or has expired. After five wrong ones, ask for another.
          </Notice>
        ) : (
          <FailureNotice failure={verify.failure} />
        ))}
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          if (code !== "") void submit(code);
        }}
      >
        <Input
          label="Code"
          value={code}
          onChange={(value) => {
            setCode(value);
            if (/^\s*\d{3}\s?\d{3}\s*$/u.test(value) && !verify.busy) void submit(value);
          }}
          autoComplete="one-time-code"
          inputMode="numeric"
          large
          code
          autoFocus
        />
        <Button type="submit" look="primary" wide busy={verify.busy || entering}>
          Sign in
        </Button>
        {send.failure !== undefined && <FailureNotice failure={send.failure} />}
        <Button
          look="quiet"
          wide
          disabled={left > 0}
          busy={send.busy}
          onClick={() => void send.run({ email }).then((done) => done && setSent(sent + 1))}
        >
          {left > 0 ? `Send again in ${clock(left)}` : "Send again"}
        </Button>
      </FormBody>
    </Door>
  );
}
