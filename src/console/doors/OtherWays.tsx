import { useQuery } from "@connectrpc/connect-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { LoginRequestSchema } from "../../../gen/atrium/login/v1/login_pb.ts";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { publicTransport } from "../session/transport.ts";
import { localPath, serviceUrl } from "../settings.ts";
import { Button } from "../widgets/Button.tsx";
import type { Form } from "../widgets/form/use-form.ts";
import { FailureNotice, Notice } from "../widgets/Notice.tsx";
import { alertToast } from "../widgets/toasts.ts";
import { lastFailure, useCall } from "../widgets/use-call.ts";
import { doorStyle, Or } from "./Door.tsx";
import { startConnection } from "./oidc.ts";

const NO_STORAGE =
  "Single sign-on needs the storage of this browser, which is full or blocked. Allow cookies here, and try again.";

/** A mailed link, a mailed code, or a provider of the organization typed. */
export function OtherWays({ form, next }: { form: Form<typeof LoginRequestSchema>; next: string | undefined }) {
  const navigate = useNavigate();
  const link = useCall(LoginService.method.sendMagicLink, { transport: publicTransport });
  const code = useCall(LoginService.method.sendOtp, { transport: publicTransport });
  const [sentTo, setSentTo] = useState<string>();
  const [missing, setMissing] = useState(false);
  const orgName = form.values.orgName?.trim() || undefined;
  const org = useSettled(orgName ?? "");
  const options = useQuery(
    LoginService.method.getSignInOptions,
    { orgName: org },
    { transport: publicTransport, enabled: org !== "" },
  );
  const email = form.values.email?.trim() ?? "";
  const withEmail = (act: () => Promise<unknown>) => () => {
    setMissing(!email.includes("@"));
    if (email.includes("@")) void act();
  };
  const failure = lastFailure(link, code);
  const goTo = (uuid: string, name: string): void =>
    void startConnection(uuid, name, next).catch(() => alertToast({ message: NO_STORAGE, requestId: undefined }));
  const back = next === undefined ? {} : { redirectTo: serviceUrl + localPath(next) };
  return (
    <>
      <Or />
      <div className={doorStyle["choices"]}>
        {(options.data?.connections ?? []).map(({ connectionUuid: uuid, name }) => (
          <Button key={uuid} wide onClick={() => goTo(uuid, name)}>
            Continue with {name}
          </Button>
        ))}
        {options.data?.ssoRequired === true && (
          <Notice>{org} takes single sign-on alone; other ways in are for its owners.</Notice>
        )}
        <Button
          wide
          busy={link.busy}
          onClick={withEmail(async () => {
            if ((await link.run({ email, orgName, ...back })) !== undefined) setSentTo(email);
          })}
        >
          Email me a link
        </Button>
        <Button
          wide
          busy={code.busy}
          onClick={withEmail(async () => {
            if ((await code.run({ email })) === undefined) return;
            await navigate({ to: "/sign-in/code", search: { email, next, org: orgName } });
          })}
        >
          Email me a code
        </Button>
      </div>
      {missing && <Notice kind="bad">Enter your email above first.</Notice>}
      {sentTo !== undefined && (
        <div role="status">
          <Notice kind="good">If {sentTo} can sign in, a mail with a link is on its way. It works once.</Notice>
        </div>
      )}
      {failure !== undefined && <FailureNotice failure={failure} />}
    </>
  );
}

function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 400);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
