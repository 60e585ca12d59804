import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { UpdateOrganizationRequestSchema, UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import type { Organization } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { forgetSession, reload } from "../../session/session.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button, ButtonLink } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm, Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, TextArea } from "../../widgets/form/Field.tsx";
import { listError } from "../../widgets/form/scope.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { useTyped } from "../../widgets/form/use-typed.ts";
import { useGuard } from "../../widgets/guard.ts";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { usePlanNames } from "../billing/use-plan-names.ts";
import { useIsOwner } from "../members/use-own-membership.ts";
import { domainsIn } from "./domains.ts";
import style from "./Settings.module.css";

/** The organization itself: its name, plan and mail domains, and its end. */
export default function Settings() {
  const orgUuid = useOrg();
  const answer = useQuery(UsersService.method.getOrganization, { orgUuid });
  return (
    <Page title="Organization" about="Name, plan and mail domains of the organization that you are in.">
      <Answer of={answer}>{(organization) => <Details key={orgUuid} organization={organization} />}</Answer>
    </Page>
  );
}

function Details({ organization }: { organization: Organization }) {
  const { orgUuid, name, plan, entitlements, sandbox, ssoRequired, createdAt, jitDomains } = organization;
  const planOf = usePlanNames();
  const isOwner = useIsOwner();
  const [open, setOpen] = useState<"rename" | "delete">();
  const close = (): void => setOpen(undefined);
  const remove = useCall(UsersService.method.deleteOrganization, { done: "Organization deleted" });
  return (
    <>
      <Section title="Details" actions={<Button onClick={() => setOpen("rename")}>Rename</Button>}>
        <Facts>
          {[
            ["Name", name],
            ["Organization id", <Id key="id" of={orgUuid} what="organization id" />],
            ["Plan", planOf(plan)],
            ["Single sign-on", ssoRequired ? "Required of everybody but owners" : "Not required"],
            sandbox && ["Sandbox", "Yes"],
            ["Created", <Time key="made" at={createdAt} />],
          ]}
        </Facts>
      </Section>
      <Section
        title="Entitlements"
        about="Features of the plan, and one for each active install."
        actions={<ButtonLink to="/console/access">Explain access</ButtonLink>}
      >
        {entitlements.length === 0 ? (
          <p>The plan has no further features, and no app is installed.</p>
        ) : (
          <ul className={style["entitlements"]} aria-label="Entitlements">
            {entitlements.map((feature) => (
              <li key={feature}>
                <code>{feature}</code>
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Domains orgUuid={orgUuid} domains={jitDomains} />
      {isOwner && (
        <Section
          title="Delete organization"
          about="Everything in it is deleted, for everybody and for good; its name is never free again."
        >
          <div>
            <Button look="danger" onClick={() => setOpen("delete")}>
              Delete organization
            </Button>
          </div>
        </Section>
      )}
      <CodeSample http={`PATCH /api/organizations/${orgUuid}`} body={{ name, jit_domains: jitDomains }} />
      {open === "rename" && <Rename orgUuid={orgUuid} name={name} onClose={close} />}
      <Confirm
        title={`Delete ${name}?`}
        about="Members lose access at once. Sessions, keys, secrets, certificates, webhooks and installs end with it."
        verb="Delete organization"
        typed={name}
        open={open === "delete"}
        call={remove}
        onCancel={close}
        onConfirm={() => void remove.run({ orgUuid }).then((done) => done && forgetSession())}
      />
    </>
  );
}

function Rename({ orgUuid, name, onClose }: { orgUuid: string; name: string; onClose: () => void }) {
  const form = useForm(UpdateOrganizationRequestSchema, { orgUuid, name });
  const call = useCall(UsersService.method.updateOrganization, { done: "Organization renamed" });
  return (
    <Dialog
      title="Rename"
      about={`The name ${name} stays reserved: nobody can take it.`}
      open
      dirty={form.changed}
      onClose={onClose}
    >
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          if ((await call.run(values)) === undefined) return;
          onClose();
          await reload();
        })}
      >
        <Field form={form} name="name" autoComplete="organization" />
        <SubmitActions call={call} verb="Rename" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}

/** Mail domains whose people may join by themselves. */
function Domains({ orgUuid, domains }: { orgUuid: string; domains: readonly string[] }) {
  const typed = useTyped(domains, (read) => ({ text: read.join("\n") }));
  const call = useCall(UsersService.method.updateOrganization, { done: "Mail domains saved" });
  const { text } = typed.values;
  const wanted = domainsIn(text);
  const isChanged = wanted.join(" ") !== domainsIn(typed.base.text).join(" ");
  useGuard(isChanged);
  return (
    <Section
      title="Mail domains"
      about="Whoever proves an address of one of them by a magic link joins by themselves, as employee."
    >
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          const values = wanted.map((value) => ({ kind: { case: "stringValue" as const, value } }));
          void call.run({ orgUuid, jitDomains: { values } }).then((done) => done && typed.saved({ text }));
        }}
      >
        <TextArea
          label="Jit domains"
          value={text}
          onChange={(next) => typed.set({ text: next })}
          rows={3}
          placeholder="example.com"
          hint="One a line. Empty: nobody joins by themselves."
          error={listError(call.failure, "jit_domains")}
        />
        {call.failure !== undefined && <FailureNotice failure={call.failure} />}
        <div>
          <Button type="submit" busy={call.busy} disabled={!isChanged}>
            Save
          </Button>
        </div>
      </FormBody>
    </Section>
  );
}
