import { useQuery } from "@connectrpc/connect-query";
import { UpdateProfileRequestSchema, UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import type { Profile as ProfileRecord } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { useMe } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { useReadAnew } from "../../widgets/form/use-typed.ts";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Memberships } from "./Memberships.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { Picture } from "./Picture.tsx";

/** The caller as a person, and the organizations they belong to. */
export default function Profile() {
  const profile = useQuery(UsersService.method.getProfile, {});
  const { orgUuid } = useMe();
  return (
    <Page title="Profile" about="What others in your organizations see of you.">
      <Section title="You">
        <Answer of={profile}>
          {(record) => (
            <>
              {/* Only members of an organization are served pictures. */}
              {orgUuid !== undefined && <Picture userUuid={record.userUuid} />}
              <Facts>
                {[
                  ["Email", record.email],
                  ["Last name", record.lastName === "" ? undefined : record.lastName],
                  ["Username", record.username],
                  ["User id", <Id key="id" of={record.userUuid} what="user id" />],
                ]}
              </Facts>
              <Edit profile={record} />
            </>
          )}
        </Answer>
      </Section>
      <Memberships />
      <CodeSample http="PUT /api/profile" body={{ first_name: "Ada", phone: "+4915112345678" }} />
    </Page>
  );
}

const valuesOf = ({ firstName, phone = "" }: ProfileRecord) => ({ firstName, phone });

function Edit({ profile }: { profile: ProfileRecord }) {
  const form = useForm(UpdateProfileRequestSchema, valuesOf(profile), true);
  useReadAnew(profile, (read) => form.follow(valuesOf(read)));
  const update = useCall(UsersService.method.updateProfile, { done: "Saved" });
  return (
    <FormBody
      form={form}
      // Who never had a first name needs none; who has one cannot remove it, which the service says.
      onSubmit={form.submit(() => update.run(form.changes))}
    >
      <Field form={form} name="firstName" autoComplete="given-name" />
      <Field
        form={form}
        name="phone"
        type="tel"
        autoComplete="tel"
        hint="With the country code, such as +4915112345678."
      />
      {update.failure !== undefined && <FailureNotice failure={update.failure} />}
      <div>
        <Button type="submit" look="primary" busy={update.busy}>
          Save
        </Button>
      </div>
    </FormBody>
  );
}
