import {
  CreateAutomationTokenRequestSchema,
  ServiceIdentitiesService,
} from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import type {
  CreateAutomationTokenResponse,
  ServiceIdentity,
} from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { ButtonLink } from "../../widgets/Button.tsx";
import { ShowAsCode } from "../../widgets/CodeSample.tsx";
import { Dialog, SecretDialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Notice } from "../../widgets/Notice.tsx";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { Reach } from "../api-keys/Reach.tsx";
import { openedByRole, ROLE_OPERATIONS } from "../api-keys/reach.ts";
import { roleLabel, useRoles } from "../roles/use-roles.ts";
import style from "./Delegated.module.css";

const LIVES = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
  ["2592000", "30 days"],
  ["7776000", "90 days"],
] as const;

interface CreateProps {
  /** What a token can act as; the first is chosen at the start. */
  identities: readonly Pick<ServiceIdentity, "identityId" | "name" | "roleId">[];
  /** Name that the form begins with. */
  name?: string;
  onClose: () => void;
  onMade: (made: CreateAutomationTokenResponse) => void;
}

/** The form of a new automation token. */
export function CreateToken({ identities, name = "", onClose, onMade }: CreateProps) {
  const orgUuid = useOrg();
  const [first] = identities;
  const form = useForm(CreateAutomationTokenRequestSchema, {
    orgUuid,
    name,
    identityId: first?.identityId ?? "",
    expiresIn: 3600,
  });
  const call = useCall(ServiceIdentitiesService.method.createAutomationToken);
  const roles = useRoles();
  const roleId = identities.find(({ identityId }) => identityId === form.values.identityId)?.roleId;
  const role = roles.data?.data.find(({ id }) => id === roleId);
  const reach = openedByRole(role?.name ?? "");
  return (
    <Dialog title="Create automation token" open wide dirty={form.changed} onClose={onClose}>
      {first === undefined ? (
        <>
          <Notice kind="warn">There is no service identity that a token could act as.</Notice>
          <div>
            <ButtonLink to="/console/identities">Create a service identity</ButtonLink>
          </div>
        </>
      ) : (
        <FormBody
          form={form}
          onSubmit={form.submit(async (values) => {
            const answer = await call.run(values);
            if (answer === undefined) return;
            onClose();
            onMade(answer);
          })}
        >
          <Field form={form} name="name" autoComplete="off" />
          <Select
            label="Identity"
            value={form.values.identityId ?? ""}
            onChange={(identityId) => form.set({ identityId })}
            options={identities.map(({ identityId, name: identity }) => [identityId, identity])}
          />
          <Select
            label="Expires in"
            value={String(form.values.expiresIn)}
            onChange={(seconds) => form.set({ expiresIn: Number(seconds) })}
            options={LIVES}
          />
          {role !== undefined && (
            <Reach operations={reach} of={ROLE_OPERATIONS} className={style["reach"]}>
              {" "}
              with the role {roleLabel(role.id, role.name)}
            </Reach>
          )}
          <ShowAsCode
            http={`POST /api/organizations/${orgUuid}/service-identities/automation-token`}
            body={{
              name: form.values.name,
              identity_id: form.values.identityId,
              expires_in: form.values.expiresIn,
            }}
          />
          <SubmitActions call={call} verb="Create" onCancel={onClose} />
        </FormBody>
      )}
    </Dialog>
  );
}

/** The token that was made, until it is saved, and when it ends. */
export function MadeToken({ made, onSaved }: { made: CreateAutomationTokenResponse | undefined; onSaved: () => void }) {
  return (
    <SecretDialog
      thing="automation token"
      secret={made?.token}
      file={`${made?.name ?? "automation-token"}.txt`}
      onSaved={onSaved}
    >
      <p>
        It expires <Time at={made?.expiresAt} />.
      </p>
    </SecretDialog>
  );
}
