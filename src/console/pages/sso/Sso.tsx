import { useState } from "react";
import { OidcService } from "../../../../gen/atrium/oidc/v1/oidc_pb.ts";
import type { Connection, TestConnectionResponse } from "../../../../gen/atrium/oidc/v1/oidc_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Copy } from "../../widgets/Copy.tsx";
import { Confirm, Dialog, DialogActions } from "../../widgets/Dialog.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { alertToast } from "../../widgets/toasts.ts";
import { useCall } from "../../widgets/use-call.ts";
import { ConnectionForm } from "./ConnectionForm.tsx";
import { Failures } from "./Failures.tsx";
import { PRESETS } from "./presets.ts";
import { Required } from "./Required.tsx";
import { SignInTest } from "./SignInTest.tsx";
import style from "./Sso.module.css";

/** Connections to identity providers, by which members sign in. */
export default function Sso() {
  const orgUuid = useOrg();
  const [form, setForm] = useState<"create" | Connection>();
  const [removed, setRemoved] = useState<Connection>();
  const [result, setResult] = useState<TestConnectionResponse>();
  const [trial, setTrial] = useState<Connection>();
  const test = useCall(OidcService.method.testConnection, { onFailure: alertToast });
  const remove = useCall(OidcService.method.deleteConnection, { done: "Connection deleted" });
  return (
    <Page
      title="Single sign-on"
      about="Members sign in at your identity provider, by OpenID Connect."
      actions={
        <Button look="primary" data-create onClick={() => setForm("create")}>
          Create connection
        </Button>
      }
    >
      <DataTable
        caption="Connections"
        things="connections"
        method={OidcService.method.listConnections}
        input={{ orgUuid }}
        rowKey={({ connectionUuid }) => connectionUuid}
        columns={[
          { header: "Name", sort: "name", cell: ({ name }) => name, csv: ({ name }) => name },
          {
            header: "Provider",
            cell: ({ provider }) => PRESETS.find((preset) => preset.provider === provider)?.label ?? provider,
            csv: ({ provider }) => provider,
          },
          {
            header: "Allowed domains",
            cell: ({ allowedDomains }) => allowedDomains.join(", ") || "none: nobody is let in",
            csv: ({ allowedDomains }) => allowedDomains.join(" "),
          },
          {
            header: "Redirect URI",
            cell: ({ redirectUri, name }) => (
              <span className={style["uri"]}>
                <code>{redirectUri}</code>
                <Copy text={redirectUri} what={`redirect URI of ${name}`} />
              </span>
            ),
            csv: ({ redirectUri }) => redirectUri,
          },
          { header: "Created", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        actions={(connection) => (
          <>
            <Button
              small
              title={connection.name}
              busy={test.busy}
              onClick={() => void test.run({ orgUuid, connectionUuid: connection.connectionUuid }).then(setResult)}
            >
              Test connection
            </Button>
            <Button small title={connection.name} onClick={() => setTrial(connection)}>
              Test sign-in
            </Button>
            <Button small title={connection.name} onClick={() => setForm(connection)}>
              Edit
            </Button>
            <Button small title={connection.name} onClick={() => setRemoved(connection)}>
              Delete
            </Button>
          </>
        )}
        empty={{
          text: "No identity provider is connected yet. With one, members need no password of this service.",
          api: `POST /api/admin/organizations/${orgUuid}/oidc-connections`,
        }}
      />
      <Required />
      <Failures />
      <CodeSample
        http={`POST /api/admin/organizations/${orgUuid}/oidc-connections`}
        body={{
          name: "Okta",
          provider: "okta",
          client_id: "client id",
          client_secret: "client secret",
          discovery_url: "https://example.okta.com/.well-known/openid-configuration",
          allowed_domains: ["example.com"],
        }}
      />
      {form !== undefined && (
        <ConnectionForm {...(form !== "create" && { of: form })} onClose={() => setForm(undefined)} />
      )}
      {result !== undefined && <Checks result={result} onClose={() => setResult(undefined)} />}
      {trial !== undefined && <SignInTest connection={trial} onClose={() => setTrial(undefined)} />}
      <Confirm
        title={`Delete ${removed?.name ?? ""}?`}
        about="Nobody signs in through it from now on. Open sessions go on."
        verb="Delete"
        typed={removed?.name}
        open={removed !== undefined}
        call={remove}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() => {
          if (removed === undefined) return;
          const { connectionUuid } = removed;
          void remove.run({ orgUuid, connectionUuid }).then((done) => done && setRemoved(undefined));
        }}
      />
    </Page>
  );
}

const CHECKS: Readonly<Record<string, string>> = {
  discovery: "Discovery document",
  issuer: "Issuer",
  jwks: "Keys",
  endpoints: "Endpoints and client",
  pkce: "PKCE",
};

/** What a test found, check by check. */
function Checks({ result, onClose }: { result: TestConnectionResponse; onClose: () => void }) {
  return (
    <Dialog title={result.ok ? "The connection works" : "The connection does not work yet"} open onClose={onClose}>
      <ul className={style["checks"]}>
        {result.checks.map(({ name, ok, message }) => (
          <li key={name}>
            <strong>{CHECKS[name] ?? name}</strong>
            <span>
              <Status of={ok ? "passed" : "failed"} />
            </span>
            {message !== "ok" && <p>{message}</p>}
          </li>
        ))}
      </ul>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
      </DialogActions>
    </Dialog>
  );
}
