import { useQuery } from "@connectrpc/connect-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { VaultService } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import type { SecretItem } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { SealedBanner } from "./SealedBanner.tsx";
import style from "./Vault.module.css";
import { WriteSecret } from "./WriteSecret.tsx";

/** The secrets of the organization. */
export default function Vault() {
  const orgUuid = useOrg();
  const { deleted }: { deleted?: unknown } = useSearch({ strict: false });
  const { data: known } = useQuery(VaultService.method.listSecrets, { orgUuid, limit: 1, includeFolders: true });
  const folders = (known?.folders ?? []).filter(({ name }) => name !== "");
  const [writing, setWriting] = useState(false);
  const [removed, setRemoved] = useState<SecretItem>();
  const [rotating, setRotating] = useState(false);
  const remove = useCall(VaultService.method.deleteSecret, { done: "Secret deleted" });
  const restore = useCall(VaultService.method.restoreSecret, { done: "Secret restored" });
  const rotate = useCall(VaultService.method.rotateKmsKey, { done: "Organization key rotated" });
  return (
    <Page
      title="Vault"
      about="Secrets with versions, sealed with the key of this organization."
      actions={
        <>
          <Button onClick={() => setRotating(true)}>Rotate organization key</Button>
          <Button look="primary" data-create onClick={() => setWriting(true)}>
            Create secret
          </Button>
        </>
      }
    >
      <SealedBanner />
      {restore.failure !== undefined && <FailureNotice failure={restore.failure} />}
      <nav className={style["tabs"]} aria-label="Secrets">
        <Link to="/console/vault" activeOptions={{ exact: true, includeSearch: true }}>
          Present
        </Link>
        <Link to="/console/vault" search={{ deleted: "true" }} activeOptions={{ includeSearch: true }}>
          Deleted
        </Link>
      </nav>
      <DataTable
        caption="Secrets"
        things="secrets"
        method={VaultService.method.listSecrets}
        searchable
        filters={[
          {
            name: "folder",
            label: "Folder",
            values: deleted === "true" ? [] : folders.map(({ name, secrets }) => [name, `${name} (${secrets})`]),
          },
          { name: "deleted", label: "Deleted", values: [] },
        ]}
        request={({ q, sort, filters, limit, offset }) => ({
          orgUuid,
          limit,
          offset,
          ...(q !== "" && { q }),
          ...(sort !== "" && { sort }),
          ...(filters["deleted"] === "true" && { deleted: true }),
          ...(filters["folder"] !== undefined && { folder: filters["folder"] }),
        })}
        rows={({ data }) => data}
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
          { header: "Created", sort: "created_at", cell: ({ createdAt }) => <Time at={createdAt} /> },
          ...(deleted === "true"
            ? [
                {
                  header: "Restorable until",
                  cell: ({ restorableUntil }: SecretItem) => <Time at={restorableUntil} none="–" />,
                },
              ]
            : []),
        ]}
        actions={(secret) =>
          secret.deletedAt === undefined ? (
            <Button small aria-label={`Delete ${secret.name}`} onClick={() => setRemoved(secret)}>
              Delete
            </Button>
          ) : (
            <Button
              small
              aria-label={`Restore ${secret.name}`}
              onClick={() => void restore.run({ orgUuid, name: secret.name })}
            >
              Restore
            </Button>
          )
        }
        empty={{
          text: "The vault is empty. A secret keeps its versions, and says who has read it.",
          api: `PUT /api/admin/organizations/${orgUuid}/secrets/{name}`,
        }}
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
