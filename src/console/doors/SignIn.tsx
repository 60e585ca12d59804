import { Link, Navigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { LoginRequestSchema, LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { setPreferences, usePreferences } from "../session/preferences.ts";
import { publicTransport } from "../session/transport.ts";
import { useSession } from "../session/use-session.ts";
import { localPath, settings } from "../settings.ts";
import { Button } from "../widgets/Button.tsx";
import { Check, Field, FormBody } from "../widgets/form/Field.tsx";
import { useForm } from "../widgets/form/use-form.ts";
import { FailureNotice, Notice } from "../widgets/Notice.tsx";
import { useCall } from "../widgets/use-call.ts";
import { Door, doorStyle } from "./Door.tsx";
import { OtherWays } from "./OtherWays.tsx";
import { noteAddress } from "./sign-in-state.ts";
import { useEnter } from "./use-enter.ts";

/** Sign-in by password; the other ways in start here. */
export default function SignIn() {
  const session = useSession();
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const { keepSignedIn } = usePreferences();
  const form = useForm(LoginRequestSchema, {
    orgName: search["org"] ?? "",
    email: search["email"] ?? "",
    password: "",
  });
  const login = useCall(LoginService.method.login, {
    transport: publicTransport,
    onFailure: ({ code }) => {
      setRefused((before) => before + 1);
      // Where the service did not judge it, the same password is sent again.
      if (code !== "unauthorized") return;
      form.set({ password: "" });
      password.current?.focus();
    },
  });
  const { enter, entering } = useEnter();
  const password = useRef<HTMLInputElement>(null);
  const [refused, setRefused] = useState(0);
  const { email = "" } = form.values;
  useEffect(() => noteAddress(email), [email]);

  if (session.status === "in" && !entering) return <Navigate to={localPath(search["next"])} replace />;

  async function submit(): Promise<void> {
    const answer = await login.run({ ...form.values, email: form.values.email?.trim() ?? "" });
    await enter(answer, localPath(search["next"]));
  }

  const wrong = login.failure?.code === "unauthorized";
  return (
    <Door
      title="Sign in"
      about={
        session.status === "out" && session.reason === "idle"
          ? "You were signed out because nothing was done for a while."
          : undefined
      }
      foot={
        settings.openSignup && (
          <>
            New here? <Link to="/sign-up">Create an organization</Link>
          </>
        )
      }
    >
      {login.failure !== undefined &&
        (wrong ? (
          <Notice kind="bad" key={refused} requestId={login.failure.requestId}>
            Organization, email and password do not match. Check them and try again.
          </Notice>
        ) : (
          <FailureNotice key={refused} failure={login.failure} />
        ))}
      {!navigator.cookieEnabled && (
        <Notice kind="warn">
          This browser blocks the cookies of this site: a session ends when its page is reloaded or after some minutes.
          Allow them to stay signed in.
        </Notice>
      )}
      <FormBody form={form} onSubmit={form.submit(submit)}>
        <Field
          form={form}
          name="orgName"
          label="Organization"
          autoComplete="organization"
          large
          autoFocus={search["org"] === undefined}
        />
        <Field form={form} name="email" type="email" autoComplete="username" large spellCheck={false} />
        <Field form={form} name="password" type="password" autoComplete="current-password" large ref={password} />
        <div className={doorStyle["between"]}>
          <Check
            label="Keep me signed in"
            checked={keepSignedIn}
            onChange={(checked) => setPreferences({ keepSignedIn: checked })}
          />
          <Link to="/forgot-password">Forgot password?</Link>
        </div>
        <Button type="submit" look="primary" wide busy={login.busy || entering}>
          Sign in
        </Button>
      </FormBody>
      <OtherWays form={form} next={search["next"]} />
    </Door>
  );
}
