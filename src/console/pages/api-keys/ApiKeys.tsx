import { useState } from "react";
import { CreateApiKeyRequestSchema, CredentialsService } from "../../../../gen/atrium/credentials/v1/credentials_pb.ts";
import type { ApiKey, CreateApiKeyResponse } from "../../../../gen/atrium/credentials/v1/credentials_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode } from "../../widgets/CodeSample.tsx";
import { Confirm, Dialog, SubmitActions, SecretDialog } from "../../widgets/Dialog.tsx";
import { Check, Field, FieldError, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import table from "../../widgets/table/DataTable.module.css";
import { useCall } from "../../widgets/use-call.ts";
import { expiresSoon } from "../delegated/expiry.ts";
import { Reach } from "./Reach.tsx";
import { opened, OPERATIONS, SCOPES } from "./reach.ts";
import style from "./ApiKeys.module.css";

/** Keys with which programs call the API. */
export default function ApiKeys() {
  const orgUuid = useOrg();
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<CreateApiKeyResponse>();
  const [revoked, setRevoked] = useState<ApiKey>();
  const revoke = useCall(CredentialsService.method.revokeApiKey, { done: "API key revoked" });
  return (
    <Page
      title="API keys"
      about="Programs call the API with a key. It opens what its scopes name, and never more than its maker may do."
      actions={
        <Button look="primary" data-create onClick={() => setCreating(true)}>
          Create API key
        </Button>
      }
    >
      <DataTable
        caption="API keys"
        things="API keys"
        method={CredentialsService.method.listApiKeys}
        input={{ orgUuid }}
        rowKey={({ keyId }) => keyId}
        columns={[
          { header: "Name", sort: "name", cell: ({ name }) => name, csv: ({ name }) => name },
          {
            header: "Key",
            cell: ({ prefix, last4 }) => (
              <code className={table["whole"]}>
                {prefix}…{last4}
              </code>
            ),
            csv: ({ prefix, last4 }) => `${prefix}…${last4}`,
          },
          { header: "Scopes", cell: ({ scopes }) => <Scopes of={scopes} />, csv: ({ scopes }) => scopes.join(" ") },
          {
            header: "Status",
            cell: (key) => <Status of={expiresSoon(key, Date.now()) ? "expiring" : key.status} />,
            csv: ({ status }) => status,
          },
          { header: "Last used", time: ({ lastUsedAt }) => lastUsedAt },
          { header: "Expires", time: ({ expiresAt }) => expiresAt },
          { header: "Created", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        actions={(key) =>
          key.status === "active" && (
            <Button small title={key.name} onClick={() => setRevoked(key)}>
              Revoke
            </Button>
          )
        }
        empty={{
          text: "No program has a key yet. A key lets a backend call the API without a person.",
          api: `POST /api/admin/organizations/${orgUuid}/api-keys`,
        }}
      />
      {creating && <Create onClose={() => setCreating(false)} onMade={setMade} />}
      <SecretDialog
        thing="API key"
        secret={made?.apiKey}
        file={`${made?.name ?? "api-key"}.txt`}
        onSaved={() => setMade(undefined)}
      />
      <Confirm
        title={`Revoke ${revoked?.name ?? ""}?`}
        about="Programs that use it are refused from their next request on. Keys that were made with it end too."
        verb="Revoke"
        open={revoked !== undefined}
        call={revoke}
        onCancel={() => setRevoked(undefined)}
        onConfirm={() => {
          if (revoked === undefined) return;
          void revoke.run({ orgUuid, keyId: revoked.keyId }).then((done) => done && setRevoked(undefined));
        }}
      />
      <CodeSample
        http={`POST /api/admin/organizations/${orgUuid}/api-keys`}
        body={{ name: "ci", scopes: ["read:users"] }}
      />
    </Page>
  );
}

const Scopes = ({ of }: { of: readonly string[] }) =>
  of.map((scope, at) => (
    <span key={scope}>
      {at > 0 && ", "}
      <span className={table["whole"]}>{scope}</span>
    </span>
  ));

function Create({ onClose, onMade }: { onClose: () => void; onMade: (made: CreateApiKeyResponse) => void }) {
  const orgUuid = useOrg();
  const form = useForm(CreateApiKeyRequestSchema, { orgUuid, name: "", scopes: [], expiresInDays: 365 });
  const call = useCall(CredentialsService.method.createApiKey);
  const scopes = form.values.scopes ?? [];
  const reach = opened(scopes);
  return (
    <Dialog title="Create API key" open wide dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          const answer = await call.run(values);
          if (answer === undefined) return;
          onClose();
          onMade(answer);
        })}
      >
        <Field form={form} name="name" />
        <Field form={form} name="expiresInDays" />
        <fieldset className={style["scopes"]}>
          <legend>Scopes</legend>
          {SCOPES.map((scope) => (
            <Check
              key={scope}
              label={scope}
              checked={scopes.includes(scope)}
              onChange={(on) =>
                form.set({ scopes: on ? [...scopes, scope] : scopes.filter((other) => other !== scope) })
              }
            />
          ))}
        </fieldset>
        {form.errors["scopes"] !== undefined && <FieldError role="alert">{form.errors["scopes"]}</FieldError>}
        <Reach operations={reach} of={OPERATIONS} className={style["reach"]} />
        <ShowAsCode
          http={`POST /api/admin/organizations/${orgUuid}/api-keys`}
          body={{ name: form.values.name, scopes, expires_in_days: form.values.expiresInDays }}
        />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
