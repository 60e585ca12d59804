import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import {
  CreateScimTokenRequestSchema,
  CredentialsService,
} from "../../../../gen/atrium/credentials/v1/credentials_pb.ts";
import type { CreateScimTokenResponse, ScimToken } from "../../../../gen/atrium/credentials/v1/credentials_pb.ts";
import { serviceUrl } from "../../settings.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Copy, Id } from "../../widgets/Copy.tsx";
import { Confirm, Dialog, SecretDialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { textOf } from "../../widgets/words.ts";
import { usePeople } from "../members/use-people.ts";
import style from "./Scim.module.css";
import { TeamsOfDirectories } from "./Teams.tsx";

/** What the attributes of a directory become here (docs/scim.md). */
const MAPPING: readonly (readonly [attribute: string, becomes: string])[] = [
  ["userName", "Name by which the directory finds the user; unique in the organization"],
  ['emails[type eq "work"].value', "Email address; without one the userName, when it is an address"],
  ["name.givenName", "First name, while only the directory knows the person"],
  ["name.familyName", "Last name, while only the directory knows the person"],
  ["active", "Whether the membership is active; false ends sessions, refresh tokens and API keys at once"],
  ["externalId", "Kept for the directory"],
  ["Other attributes of users", "Kept as they are, searchable and sortable"],
  ["Group displayName, members", "A team and who is in it; teams carry no power"],
  ["roles, entitlements, password, x509Certificates", "Ignored"],
];

/** Tokens and addresses with which a directory keeps the members. */
export default function Scim() {
  const orgUuid = useOrg();
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<CreateScimTokenResponse>();
  const [revoked, setRevoked] = useState<ScimToken>();
  const revoke = useCall(CredentialsService.method.revokeScimToken, { done: "SCIM token revoked" });
  const baseUrl = `${serviceUrl}/scim/v2/organizations/${orgUuid}`;
  return (
    <Page
      title="Provisioning"
      about="A directory such as Okta or Microsoft Entra ID creates, changes and removes members by SCIM 2.0."
      actions={
        <Button look="primary" data-create onClick={() => setCreating(true)}>
          New token
        </Button>
      }
    >
      <Section title="Connect a directory">
        <Facts>
          {[
            [
              "Base URL",
              <span key="url" className={style["url"]}>
                <code>{baseUrl}</code>
                <Copy text={baseUrl} what="base URL" />
              </span>,
            ],
            ["Authentication", "HTTP header: Authorization: Bearer and a token of this page"],
            ["Unique identifier", "userName"],
            ["Guide", <Guide key="guide" />],
          ]}
        </Facts>
      </Section>
      <DataTable
        caption="SCIM tokens"
        things="tokens"
        method={CredentialsService.method.listScimTokens}
        input={{ orgUuid }}
        rowKey={({ tokenId }) => tokenId}
        columns={[
          {
            header: "Name",
            sort: "name",
            cell: ({ name, tokenId }) => name || <Id of={tokenId} what="token id" />,
            csv: ({ name, tokenId }) => name || tokenId,
          },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
          { header: "Last used", time: ({ lastUsedAt }) => lastUsedAt },
          { header: "Expires", time: ({ expiresAt }) => expiresAt },
          { header: "Created", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        actions={(token) =>
          token.status === "active" && (
            <Button small title={token.name || token.tokenId} onClick={() => setRevoked(token)}>
              Revoke
            </Button>
          )
        }
        empty={{
          text: "No directory has a token yet. Five can be active at the same time.",
          api: `POST /api/admin/organizations/${orgUuid}/scim-tokens`,
        }}
      />
      <Section title="Attribute mapping">
        <Rows
          caption="Attribute mapping"
          rows={MAPPING}
          rowKey={([attribute]) => attribute}
          columns={[
            { header: "Attribute", cell: ([attribute]) => <code>{attribute}</code> },
            { header: "Becomes", cell: ([, becomes]) => becomes },
          ]}
        />
      </Section>
      <TeamsOfDirectories />
      <Events />
      <CodeSample http={`POST /api/admin/organizations/${orgUuid}/scim-tokens`} body={{ name: "okta" }} />
      {creating && <NewToken onClose={() => setCreating(false)} onMade={setMade} />}
      <SecretDialog
        thing="SCIM token"
        secret={made?.token}
        file="scim-token.txt"
        about="Paste it into the directory. It is shown once."
        onSaved={() => setMade(undefined)}
      />
      <Confirm
        title={`Revoke ${revoked?.name || `token ${revoked?.tokenId ?? ""}`}?`}
        about="The directory that uses it is refused from its next request on. Members stay as they are."
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

const Guide = () => (
  <a href="docs/guides/scim" target="_blank" rel="noreferrer">
    Okta, Microsoft Entra ID
  </a>
);

function NewToken({ onClose, onMade }: { onClose: () => void; onMade: (made: CreateScimTokenResponse) => void }) {
  const orgUuid = useOrg();
  const form = useForm(CreateScimTokenRequestSchema, { orgUuid, name: "", expiresInDays: 365 });
  const call = useCall(CredentialsService.method.createScimToken);
  return (
    <Dialog title="New token" open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async ({ name, ...values }) => {
          const answer = await call.run({ ...values, ...(name !== "" && { name: String(name) }) });
          if (answer === undefined) return;
          onClose();
          onMade(answer);
        })}
      >
        <Field form={form} name="name" placeholder="okta" />
        <Field form={form} name="expiresInDays" />
        <ShowAsCode http={`POST /api/admin/organizations/${orgUuid}/scim-tokens`} body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}

/** What directories did last. */
function Events() {
  const orgUuid = useOrg();
  const people = usePeople();
  const events = useQuery(
    AuthEventsService.method.listAuditEvents,
    { orgUuid, q: "scim.", limit: 10 },
    { refetchInterval: 15_000 },
  );
  return (
    <Section title="Last events" about="What directories created, changed and removed: users and groups.">
      <Answer of={events} lines={3}>
        {({ data }) => {
          const own = data.filter(({ type }) => type.startsWith("scim."));
          if (own.length === 0) return <p>No directory has done anything yet.</p>;
          return (
            <Rows
              caption="Last events"
              rows={own}
              rowKey={({ eventId }) => eventId}
              columns={[
                { header: "Event", cell: ({ type }) => type },
                { header: "Outcome", cell: ({ outcome }) => <Status of={outcome} /> },
                {
                  header: "What",
                  cell: ({ metadata, resourceId }) =>
                    people.get(resourceId ?? "") ??
                    textOf(metadata?.["user_name"]) ??
                    textOf(metadata?.["display_name"]) ??
                    resourceId ??
                    "–",
                },
                { header: "Time", time: ({ createdAt }) => createdAt },
              ]}
            />
          );
        }}
      </Answer>
    </Section>
  );
}
