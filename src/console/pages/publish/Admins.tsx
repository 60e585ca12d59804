import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import type { App } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { GrantAdminRequestSchema } from "../../../../gen/atrium/marketplace/v1/publishing_pb.ts";
import type { AppAdmin } from "../../../../gen/atrium/marketplace/v1/publishing_pb.ts";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { holds } from "../../powers.ts";
import { useMe } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm, Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Input, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import type { AnyForm } from "../../widgets/form/use-form.ts";
import { Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useCall } from "../../widgets/use-call.ts";

/** Who administers an app. */
export function Admins({ app }: { app: App }) {
  const { appId, name } = app;
  const admins = useQuery(PublisherService.method.listAdmins, { appId });
  const [granting, setGranting] = useState(false);
  const [removed, setRemoved] = useState<AppAdmin>();
  const revoke = useCall(PublisherService.method.revokeAdmin, { done: "Grant revoked" });
  return (
    <>
      <Section
        title="Admins"
        about="Owners of your organization administer every app. Others need a grant; tokens show it after a refresh."
        actions={<Button onClick={() => setGranting(true)}>Add admin</Button>}
      >
        <Answer of={admins} lines={2}>
          {({ data }) => (
            <Rows
              caption="Admins"
              rows={data}
              rowKey={({ userUuid }) => userUuid}
              columns={[
                { header: "Email", cell: ({ email }) => email },
                { header: "By", cell: ({ isOrgOwner }) => (isOrgOwner ? "Ownership" : "Grant") },
                { header: "Since", time: ({ grantedAt }) => grantedAt, none: "–" },
              ]}
              actions={(admin) =>
                !admin.isOrgOwner && (
                  <Button small title={admin.email} onClick={() => setRemoved(admin)}>
                    Revoke
                  </Button>
                )
              }
            />
          )}
        </Answer>
      </Section>
      <CodeSample http={`GET /api/marketplace/apps/${appId}/admins`} />
      {granting && <Grant app={app} onClose={() => setGranting(false)} />}
      <Confirm
        title={`Revoke ${removed?.email ?? "the grant"}?`}
        about={`They no longer administer ${name}. A present token is good until it expires; "Rotate app key" ends it.`}
        verb="Revoke"
        open={removed !== undefined}
        call={revoke}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() =>
          void revoke.run({ appId, userUuid: removed?.userUuid ?? "" }).then((done) => done && setRemoved(undefined))
        }
      />
    </>
  );
}

function Grant({ app, onClose }: { app: App; onClose: () => void }) {
  const me = useMe();
  const form = useForm(GrantAdminRequestSchema, { appId: app.appId, userUuid: "" });
  const call = useCall(PublisherService.method.grantAdmin, { done: "Admin added" });
  return (
    <Dialog title="Add admin" about={`Of ${app.name}`} open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async ({ appId = "", userUuid = "" }) => {
          if ((await call.run({ appId, userUuid: userUuid.trim() })) !== undefined) onClose();
        })}
      >
        {holds(me, "admin") ? (
          <Member form={form} />
        ) : (
          // The members are listed to admins of the organization alone.
          <Field
            form={form}
            name="userUuid"
            label="User id"
            hint="Of a member of your organization, who finds it on the page Profile."
            autoComplete="off"
            spellCheck={false}
          />
        )}
        <SubmitActions call={call} verb="Add" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}

/** A choice of one of the members. */
function Member({ form }: { form: AnyForm }) {
  const [q, setQ] = useState("");
  const people = useQuery(UsersService.method.listUsers, { limit: 200, ...(q !== "" && { q }) });
  return (
    <>
      <Input label="Search members" type="search" value={q} onChange={setQ} />
      <Answer of={people} lines={1}>
        {({ data }) => (
          <Select
            label="Member"
            value={String(form.values["userUuid"])}
            onChange={(userUuid) => form.set({ userUuid })}
            options={[["", "Choose"], ...data.map((one) => [one.userUuid, one.email] as const)]}
            error={form.errors["userUuid"]}
          />
        )}
      </Answer>
    </>
  );
}
