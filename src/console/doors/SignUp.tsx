import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { CreateOrganizationRequestSchema, UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { transport } from "../session/session.ts";
import { publicTransport } from "../session/transport.ts";
import { useSession } from "../session/use-session.ts";
import { Button } from "../widgets/Button.tsx";
import { Field, FormBody } from "../widgets/form/Field.tsx";
import { useForm } from "../widgets/form/use-form.ts";
import { FailureNotice } from "../widgets/Notice.tsx";
import { useCall } from "../widgets/use-call.ts";
import { Door } from "./Door.tsx";
import { useEnter } from "./use-enter.ts";

/** What the length of a password is worth; the service refuses the common ones besides. */
function strengthOf(password: string): string {
  const length = [...password].length;
  if (length === 0) return "At least 8 characters; a few words are easier to keep than signs.";
  if (length < 8) return `Too short: ${8 - length} more characters.`;
  return length < 12 ? "Strength: fair. Longer is stronger." : length < 16 ? "Strength: good." : "Strength: very good.";
}

/** Makes an organization with its owner; somebody who is signed in needs no password. */
export default function SignUp() {
  const session = useSession();
  const signedIn = session.status === "in";
  const form = useForm(CreateOrganizationRequestSchema, { name: "", firstName: "", email: "", password: "" });
  const create = useCall(UsersService.method.createOrganization, {
    transport: signedIn ? transport : publicTransport,
  });
  const { enter, entering } = useEnter();
  const name = useSettled(form.values.name?.trim() ?? "");
  const check = useQuery(
    LoginService.method.checkOrganizationName,
    { name },
    { transport: publicTransport, enabled: name !== "" },
  );
  const { failure } = create;
  const taken = check.data?.data?.name === name && check.data.data.available === false;
  return (
    <Door
      title="Create an organization"
      about={signedIn ? `You become its owner, as ${session.me.email ?? ""}.` : undefined}
      foot={signedIn ? <Link to="/console">Go to the console</Link> : <Link to="/sign-in">Go to sign-in</Link>}
    >
      <FormBody
        form={form}
        onSubmit={form.submit(async ({ firstName, email, password }) => {
          const person = signedIn
            ? {}
            : { firstName: firstName?.trim() ?? "", email: email?.trim() ?? "", password: password ?? "" };
          const made = await create.run({ name: form.values.name?.trim() ?? "", ...person });
          await enter(made);
        })}
      >
        <Field
          form={form}
          name="name"
          label="Name"
          autoComplete="organization"
          large
          autoFocus
          hint={
            <span aria-live="polite">
              {name === "" || check.data === undefined
                ? "The name people sign in with."
                : taken
                  ? `${name} is taken.`
                  : `${name} is free.`}
            </span>
          }
        />
        {!signedIn && (
          <>
            <Field form={form} name="firstName" autoComplete="given-name" large />
            <Field form={form} name="email" type="email" autoComplete="username" large spellCheck={false} />
            <Field
              form={form}
              name="password"
              type="password"
              autoComplete="new-password"
              large
              hint={strengthOf(form.values.password ?? "")}
            />
          </>
        )}
        {failure !== undefined && <FailureNotice failure={failure} />}
        <Button type="submit" look="primary" wide busy={create.busy || entering} disabled={taken}>
          Create
        </Button>
      </FormBody>
    </Door>
  );
}

function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 350);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
