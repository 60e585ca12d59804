import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import {
  CreateAutomationTokenRequestSchema,
  ServiceIdentitiesService,
} from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import type {
  AutomationToken,
  CreateAutomationTokenResponse,
  ServiceIdentity,
} from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button, ButtonLink } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode } from "../../widgets/CodeSample.tsx";
import { Confirm, Dialog, SecretDialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Notice } from "../../widgets/Notice.tsx";
import { Page } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { openedByRole, ROLE_OPERATIONS } from "../api-keys/reach.ts";
import { roleLabel, useRoles } from "../roles/use-roles.ts";
import style from "./Delegated.module.css";
import { expiresSoon } from "./expiry.ts";

/** Tokens with which workloads act as a service identity. */
export default function Delegated() {
  const orgUuid = useOrg();
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<CreateAutomationTokenResponse>();
  const [revoked, setRevoked] = useState<AutomationToken>();
  const revoke = useCall(ServiceIdentitiesService.method.revokeAutomationToken, { done: "Automation token revoked" });
  const identities = useQuery(ServiceIdentitiesService.method.listServiceIdentities, { orgUuid, limit: 200 });
  const roles = useRoles();
  const identityOf = (id: string): ServiceIdentity | undefined =>
    identities.data?.data.find(({ identityId }) => identityId === id);
  const roleOf = (id: string): string => {
    const roleId = identityOf(id)?.roleId;
    const role = roles.data?.data.find((one) => one.id === roleId);
    return role === undefined ? "–" : roleLabel(role.id, role.name);
  };
  return (
    <Page
      title="Delegated credentials"
      about="Automation tokens: a program that bears one acts as a service identity, with the power of its role."
      actions={
        <Button look="primary" data-create onClick={() => setCreating(true)}>
          Create automation token
        </Button>
      }
    >
      <DataTable
        caption="Automation tokens"
        things="automation tokens"
        method={ServiceIdentitiesService.method.listAutomationTokens}
        input={{ orgUuid }}
        rowKey={({ tokenId }) => tokenId}
        filters={[
          {
            name: "identity_id",
            label: "Identity",
            values: (identities.data?.data ?? []).map(({ identityId, name }) => [identityId, name]),
          },
        ]}
        columns={[
          { header: "Name", sort: "name", cell: ({ name }) => name, csv: ({ name }) => name },
          {
            header: "Identity",
            cell: ({ identityId }) => (
              <Link to={`/console/identities/${identityId}`}>{identityOf(identityId)?.name ?? "Open"}</Link>
            ),
            csv: ({ identityId }) => identityOf(identityId)?.name ?? identityId,
          },
          { header: "Role", cell: ({ identityId }) => roleOf(identityId), csv: ({ identityId }) => roleOf(identityId) },
          {
            header: "Status",
            cell: (token) =>
              expiresSoon(token, Date.now()) ? (
                <>
                  <Status of="expiring" /> <span className="visually-hidden">soon</span>
                </>
              ) : (
                <Status of={token.status} />
              ),
            csv: ({ status }) => status,
          },
          { header: "Last used", time: ({ lastUsedAt }) => lastUsedAt },
          { header: "Expires", time: ({ expiresAt }) => expiresAt },
          { header: "Created", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        actions={(token) =>
          token.status === "active" && (
            <Button small title={token.name} onClick={() => setRevoked(token)}>
              Revoke
            </Button>
          )
        }
        empty={{
          text: "No workload has a token yet. A token lets a program act as a service identity.",
          api: `POST /api/organizations/${orgUuid}/service-identities/automation-token`,
        }}
      />
      <CodeSample
        http={`POST /api/organizations/${orgUuid}/service-identities/automation-token`}
        body={{
          name: "nightly-report",
          identity_id: identities.data?.data[0]?.identityId ?? "00000000-0000-4000-8000-000000000000",
          expires_in: 3600,
        }}
      />
      {creating && (
        <Answer of={identities} lines={0}>
          {({ data }) => <Create identities={data} onClose={() => setCreating(false)} onMade={setMade} />}
        </Answer>
      )}
      <SecretDialog
        thing="automation token"
        secret={made?.token}
        file={`${made?.name ?? "automation-token"}.txt`}
        onSaved={() => setMade(undefined)}
      />
      <Confirm
        title={`Revoke ${revoked?.name ?? ""}?`}
        about="Programs that bear this token are refused from their next request on; the identity's others go on."
        verb="Revoke"
        open={revoked !== undefined}
        call={revoke}
        onCancel={() => setRevoked(undefined)}
        onConfirm={() => {
          if (revoked === undefined) return;
          void revoke.run({ orgUuid, tokenId: revoked.tokenId }).then((done) => done && setRevoked(undefined));
        }}
      />
    </Page>
  );
}

const LIVES = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
  ["2592000", "30 days"],
  ["7776000", "90 days"],
] as const;

interface CreateProps {
  identities: readonly ServiceIdentity[];
  onClose: () => void;
  onMade: (made: CreateAutomationTokenResponse) => void;
}

function Create({ identities, onClose, onMade }: CreateProps) {
  const orgUuid = useOrg();
  const [first] = identities;
  const form = useForm(CreateAutomationTokenRequestSchema, {
    orgUuid,
    name: "",
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
            options={identities.map(({ identityId, name }) => [identityId, name])}
          />
          <Select
            label="Expires in"
            value={String(form.values.expiresIn)}
            onChange={(seconds) => form.set({ expiresIn: Number(seconds) })}
            options={LIVES}
          />
          {role !== undefined && (
            <details className={style["reach"]}>
              <summary>
                <span role="status">
                  Opens {reach.length} of {ROLE_OPERATIONS} operations
                </span>{" "}
                with the role {roleLabel(role.id, role.name)}
              </summary>
              <ul tabIndex={0} aria-label="Operations">
                {reach.map((name) => (
                  <li key={name}>
                    <code>{name}</code>
                  </li>
                ))}
              </ul>
            </details>
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
