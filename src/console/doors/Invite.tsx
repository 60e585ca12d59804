import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { AcceptInviteRequestSchema, LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { failureOf } from "../session/failures.ts";
import { transport } from "../session/session.ts";
import { linkToken } from "../session/link-token.ts";
import { publicTransport } from "../session/transport.ts";
import { useSession } from "../session/use-session.ts";
import { Button } from "../widgets/Button.tsx";
import { Field, FormBody } from "../widgets/form/Field.tsx";
import { useForm } from "../widgets/form/use-form.ts";
import { FailureNotice } from "../widgets/Notice.tsx";
import { Failed, Skeleton } from "../widgets/States.tsx";
import { useCall } from "../widgets/use-call.ts";
import { inWords } from "../widgets/words.ts";
import { Door } from "./Door.tsx";
import { LinkIncomplete } from "./LinkIncomplete.tsx";
import { useEnter } from "./use-enter.ts";

/** Accepts an invitation: as a new person, with the present password, or as who is signed in. */
export default function Invite() {
  const token = linkToken()?.token ?? "";
  const session = useSession();
  const invite = useQuery(
    LoginService.method.getInvite,
    { token },
    { transport: publicTransport, enabled: token !== "", retry: false },
  );
  const form = useForm(AcceptInviteRequestSchema, {
    firstName: "",
    lastName: "",
    username: "",
    password: "",
    phone: "",
  });
  const accept = useCall(LoginService.method.acceptInvite, { transport: publicTransport });
  const acceptAs = useCall(LoginService.method.acceptInvite, { transport });
  const { enter, entering } = useEnter();
  if (token === "") return <LinkIncomplete title="Join an organization" />;
  const refused = invite.error === null ? undefined : failureOf(invite.error);
  if (invite.data === undefined)
    return (
      <Door title="Join an organization">
        {refused === undefined ? (
          <Skeleton lines={3} />
        ) : refused.code.startsWith("invitation_") ? (
          <FailureNotice failure={refused} />
        ) : (
          <Failed error={invite.error} retry={() => void invite.refetch()} />
        )}
        {refused !== undefined && <Link to="/sign-in">Go to sign-in</Link>}
      </Door>
    );
  const { email, orgName, role } = invite.data;
  const isMe = session.status === "in" && session.me.email?.toLowerCase() === email.toLowerCase();
  return (
    <Door title={`Join ${orgName}`} about={`${orgName} invites ${email} with the role ${inWords(role)}.`}>
      {isMe && (
        <>
          {acceptAs.failure !== undefined && <FailureNotice failure={acceptAs.failure} />}
          <Button
            look="primary"
            wide
            busy={acceptAs.busy || entering}
            onClick={() => void acceptAs.run({ token }).then((answer) => enter(answer?.data))}
          >
            Accept as {email}
          </Button>
        </>
      )}
      {!isMe && (
        <FormBody
          form={form}
          onSubmit={form.submit(async (values) => {
            const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
            const answer = await accept.run({ ...given, token });
            await enter(answer?.data);
          })}
        >
          <p>
            If you have an account with this email, its present password is all that is needed. If it has none, sign in
            by a mailed link first, then open the invitation again.
          </p>
          <Field form={form} name="firstName" autoComplete="given-name" />
          <Field form={form} name="lastName" autoComplete="family-name" />
          <Field form={form} name="username" autoComplete="username" spellCheck={false} />
          <Field form={form} name="password" type="password" autoComplete="new-password" />
          <Field
            form={form}
            name="phone"
            label="Phone (optional)"
            type="tel"
            autoComplete="tel"
            hint="With the country code, such as +4915112345678."
          />
          {accept.failure !== undefined && <FailureNotice failure={accept.failure} />}
          <Button type="submit" look="primary" wide busy={accept.busy || entering}>
            Accept
          </Button>
        </FormBody>
      )}
    </Door>
  );
}
