import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ServiceIdentitiesService } from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import type {
  AutomationToken,
  CreateAutomationTokenResponse,
  ServiceIdentity,
} from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm, Dialog, DialogActions } from "../../widgets/Dialog.tsx";
import { Page } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useEvery } from "../../widgets/table/use-every.ts";
import { useCall } from "../../widgets/use-call.ts";
import { roleLabel, useRoles } from "../roles/use-roles.ts";
import { CreateToken, MadeToken } from "./CreateToken.tsx";
import { expiresSoon } from "./expiry.ts";

/** Tokens with which workloads act as a service identity. */
export default function Delegated() {
  const orgUuid = useOrg();
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<CreateAutomationTokenResponse>();
  const [revoked, setRevoked] = useState<AutomationToken>();
  const revoke = useCall(ServiceIdentitiesService.method.revokeAutomationToken, { done: "Automation token revoked" });
  const identities = useEvery({ method: ServiceIdentitiesService.method.listServiceIdentities, input: { orgUuid } });
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
      {creating && identities.data === undefined && (
        <Dialog title="Create automation token" open wide onClose={() => setCreating(false)}>
          <Answer of={identities}>{() => null}</Answer>
          <DialogActions>
            <Button onClick={() => setCreating(false)}>Cancel</Button>
          </DialogActions>
        </Dialog>
      )}
      {creating && identities.data !== undefined && (
        <CreateToken identities={identities.data.data} onClose={() => setCreating(false)} onMade={setMade} />
      )}
      <MadeToken made={made} onSaved={() => setMade(undefined)} />
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
