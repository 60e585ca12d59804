import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactNode } from "react";
import { VaultService } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import type { SecretItem } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Page } from "../../widgets/Page.tsx";
import { PageTabs } from "../../widgets/PageTabs.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { SealedBanner } from "./SealedBanner.tsx";
import { WriteSecret } from "./WriteSecret.tsx";

/** The secrets of the organization. */
export default function Vault() {
  const orgUuid = useOrg();
  const [writing, setWriting] = useState(false);
  const [removed, setRemoved] = useState<SecretItem>();
  const [rotating, setRotating] = useState(false);
  const restore = useCall(VaultService.method.restoreSecret, { done: "Secret restored" });
  const remove = useCall(VaultService.method.deleteSecret, {
    done: "Secret deleted",
    undo: ({ name = "" }) => void restore.run({ orgUuid, name }),
  });
  const rotate = useCall(VaultService.method.rotateKmsKey, { done: "Organization key rotated" });
  const remover = (secret: SecretItem): ReactNode => (
    <Button small title={secret.name} onClick={() => setRemoved(secret)}>
      Delete
    </Button>
  );
  const restorer = ({ name }: SecretItem): ReactNode => (
    <Button small title={name} onClick={() => void restore.run({ orgUuid, name })}>
      Restore
    </Button>
  );
  return (
    <Page
      title="Vault"
      about="Secrets with versions, sealed with the key of this organization."
      actions={
        <>
          <Button look="primary" data-create onClick={() => setWriting(true)}>
            Create secret
          </Button>
          <Button onClick={() => setRotating(true)}>Rotate organization key</Button>
        </>
      }
    >
      <SealedBanner />
      {restore.failure !== undefined && <FailureNotice failure={restore.failure} />}
      <PageTabs
        label="Secrets"
        param="deleted"
        tabs={[
          { name: "", label: "Present", content: () => <Secrets actions={remover} /> },
          { name: "true", label: "Deleted", content: () => <Secrets isDeleted actions={restorer} /> },
        ]}
      />
      {writing && <WriteSecret onClose={() => setWriting(false)} />}
      <Confirm
        title={`Delete ${removed?.name ?? ""}?`}
        about="Programs that read it get 404 at once. It can be restored for 30 days."
        verb="Delete"
        typed={removed?.name}
        open={removed !== undefined}
        call={remove}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() => {
          if (removed === undefined) return;
          void remove.run({ orgUuid, name: removed.name }).then((done) => done && setRemoved(undefined));
        }}
      />
      <Confirm
        title="Rotate the organization key?"
        about="Every version is sealed anew with a new key, in the background. Reads go on meanwhile."
        verb="Rotate"
        open={rotating}
        call={rotate}
        onCancel={() => setRotating(false)}
        onConfirm={() => void rotate.run({ orgUuid }).then((done) => done && setRotating(false))}
      />
      <CodeSample http={`GET /api/admin/organizations/${orgUuid}/secrets/database.password`} />
    </Page>
  );
}

interface SecretsProps {
  isDeleted?: boolean;
  /** Buttons at the end of a row. */
  actions: (secret: SecretItem) => ReactNode;
}

/** The secrets that there are, or those that can be restored. */
function Secrets({ isDeleted = false, actions }: SecretsProps) {
  const orgUuid = useOrg();
  const { data: known } = useQuery(VaultService.method.listSecrets, { orgUuid, limit: 1, includeFolders: true });
  const folders = (known?.folders ?? []).filter(({ name }) => name !== "");
  return (
    <DataTable
      caption="Secrets"
      things="secrets"
      method={VaultService.method.listSecrets}
      filters={[
        {
          name: "folder",
          label: "Folder",
          values: isDeleted ? [] : folders.map(({ name, secrets }) => [name, `${name} (${secrets})`]),
        },
      ]}
      input={{ orgUuid, ...(isDeleted && { deleted: true }) }}
      rowKey={({ name }) => name}
      columns={[
        {
          header: "Name",
          sort: "name",
          cell: ({ name, deletedAt }) =>
            deletedAt === undefined ? <Link to={`/console/vault/${encodeURIComponent(name)}`}>{name}</Link> : name,
          csv: ({ name }) => name,
        },
        { header: "Version", cell: ({ version }) => version, csv: ({ version }) => version, right: true },
        { header: "Tags", cell: ({ tags }) => tags.join(", "), csv: ({ tags }) => tags.join(" ") },
        { header: "Created", sort: "created_at", time: ({ createdAt }) => createdAt },
        ...(isDeleted
          ? [
              {
                header: "Restorable until",
                time: ({ restorableUntil }: SecretItem) => restorableUntil,
                none: "–",
              },
            ]
          : []),
      ]}
      actions={actions}
      empty={
        isDeleted
          ? { text: "No secret was deleted in the last 30 days." }
          : {
              text: "The vault is empty. A secret keeps its versions, and says who has read it.",
              api: `PUT /api/admin/organizations/${orgUuid}/secrets/{name}`,
            }
      }
    />
  );
}
