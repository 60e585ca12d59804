import { useQuery } from "@connectrpc/connect-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { ServiceIdentitiesService } from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import type {
  CreateAutomationTokenResponse,
  ServiceIdentityDetail,
} from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { SpiffeService } from "../../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import type { Svid } from "../../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { serviceUrl } from "../../settings.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm, Dialog, SubmitActions, SecretDialog } from "../../widgets/Dialog.tsx";
import { FormBody, Input } from "../../widgets/form/Field.tsx";
import { Life } from "../../widgets/Life.tsx";
import { Lines } from "../../widgets/Lines.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { roleLabel, useRoles } from "../roles/use-roles.ts";
import { CreateToken, MadeToken } from "../delegated/CreateToken.tsx";
import { EditIdentity } from "./EditIdentity.tsx";
import { Tokens } from "./Tokens.tsx";
import { TrustBundle } from "./TrustBundle.tsx";
import style from "./Identities.module.css";

/** One service identity, its SVIDs and its tokens. */
export default function Identity() {
  const orgUuid = useOrg();
  const { identity: identityId = "" }: { identity?: string } = useParams({ strict: false });
  const answer = useQuery(ServiceIdentitiesService.method.getServiceIdentity, { orgUuid, identityId });
  if (answer.data === undefined)
    return (
      <Page title="Service identity">
        <Answer of={answer} backLink={["/console/identities", "Go to the service identities"]}>
          {() => null}
        </Answer>
      </Page>
    );
  return <Details identity={answer.data} />;
}

interface Shown {
  thing: string;
  secret: string;
  file: string;
}

function Details({ identity }: { identity: ServiceIdentityDetail }) {
  const orgUuid = useOrg();
  const navigate = useNavigate();
  const { identityId, name } = identity;
  const [asked, setAsked] = useState<"delete" | "edit" | "jwt" | "token">();
  const [revoked, setRevoked] = useState<Svid>();
  const [shown, setShown] = useState<Shown>();
  const [token, setToken] = useState<CreateAutomationTokenResponse>();
  const roles = useRoles();
  const role = roles.data?.data.find(({ id }) => id === identity.roleId);
  const issue = useCall(SpiffeService.method.issueSvid);
  const revoke = useCall(SpiffeService.method.revokeSvid, { done: "SVID revoked" });
  const remove = useCall(ServiceIdentitiesService.method.deleteServiceIdentity, { done: "Service identity deleted" });

  const issueSvid = async (): Promise<void> => {
    const made = await issue.run({ serviceIdentityId: identityId });
    if (made === undefined) return;
    setShown({ thing: "SVID", secret: `${made.certificatePem}${made.privateKeyPem}`, file: "svid.pem" });
  };

  return (
    <Page
      title={name}
      about={identity.description}
      actions={
        <>
          <Button look="primary" busy={issue.busy} onClick={() => void issueSvid()}>
            Issue SVID
          </Button>
          <Button onClick={() => setAsked("jwt")}>Issue JWT-SVID</Button>
          <Button onClick={() => setAsked("token")}>Create automation token</Button>
          <Button onClick={() => setAsked("edit")}>Edit</Button>
          <Button onClick={() => setAsked("delete")}>Delete</Button>
        </>
      }
    >
      {issue.failure !== undefined && <FailureNotice failure={issue.failure} />}
      <Section title="Details">
        <Facts>
          {[
            ["Identity id", <Id key="id" of={identityId} what="identity id" />],
            ["Role", roleLabel(identity.roleId, role?.name ?? String(identity.roleId))],
            ["Last seen", <Time key="seen" at={identity.lastAuthAt} />],
            ["Created", <Time key="made" at={identity.createdAt} />],
          ]}
        </Facts>
      </Section>
      <Section title="SVIDs" about="Certificates by which the workload proves its SPIFFE ID.">
        {identity.svids.length === 0 ? (
          <p>No SVID was issued yet.</p>
        ) : (
          <ul className={style["svids"]}>
            {identity.svids.map((svid) => (
              <li key={svid.svidId}>
                <code>{svid.spiffeId}</code> <Status of={svid.status} />
                <Life from={svid.notBefore} to={svid.notAfter} />
                <span>
                  expires <Time at={svid.notAfter} />
                </span>
                {svid.status === "active" && (
                  <Button small title={svid.serial} onClick={() => setRevoked(svid)}>
                    Revoke
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section title="Check an SVID" about="With the root of this organization, as any relying party can.">
        <Lines
          what="openssl line"
          before={`curl -s ${serviceUrl}/orgs/${orgUuid}/.well-known/ca.pem -o ca.pem`}
          line="openssl verify -CAfile ca.pem svid.pem"
        />
      </Section>
      <TrustBundle />
      <Tokens identityId={identityId} />
      <CodeSample http="POST /api/auth/spiffe/svid" body={{ service_identity_id: identityId }} />
      <SecretDialog
        thing={shown?.thing ?? "secret"}
        secret={shown?.secret}
        file={shown?.file ?? "secret.txt"}
        onSaved={() => setShown(undefined)}
      />
      <MadeToken made={token} onSaved={() => setToken(undefined)} />
      {asked === "token" && (
        <CreateToken
          identities={[identity]}
          name={tokenName(name)}
          onClose={() => setAsked(undefined)}
          onMade={setToken}
        />
      )}
      {asked === "jwt" && <JwtSvid identityId={identityId} onClose={() => setAsked(undefined)} onMade={setShown} />}
      {asked === "edit" && <EditIdentity identity={identity} onClose={() => setAsked(undefined)} />}
      <Confirm
        title="Revoke this SVID?"
        about="Its next request is refused, on connections that are already open too."
        verb="Revoke"
        open={revoked !== undefined}
        call={revoke}
        onCancel={() => setRevoked(undefined)}
        onConfirm={() => {
          if (revoked === undefined) return;
          void revoke.run({ svidId: revoked.svidId }).then((done) => done && setRevoked(undefined));
        }}
      />
      <Confirm
        title={`Delete ${name}?`}
        about="Its SVIDs, tokens and open connections end at once."
        verb="Delete"
        typed={name}
        open={asked === "delete"}
        call={remove}
        onCancel={() => setAsked(undefined)}
        onConfirm={() =>
          void remove.run({ orgUuid, identityId }).then((done) => done && void navigate({ to: "/console/identities" }))
        }
      />
    </Page>
  );
}

/** Name of a token of an identity, within the 128 characters that it may have. */
const tokenName = (identity: string): string => `${[...identity].slice(0, 122).join("")} token`;

interface JwtProps {
  identityId: string;
  onClose: () => void;
  onMade: (shown: Shown) => void;
}

function JwtSvid({ identityId, onClose, onMade }: JwtProps) {
  const [audience, setAudience] = useState("");
  const issue = useCall(SpiffeService.method.issueJwtSvid);
  return (
    <Dialog
      title="Issue JWT-SVID"
      about="A token for relying parties that cannot use mutual TLS."
      open
      dirty={audience !== ""}
      onClose={onClose}
    >
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          void issue.run({ identityId, audience: audience.split(/[\s,]+/u).filter(Boolean) }).then((made) => {
            if (made === undefined) return;
            onClose();
            onMade({ thing: "JWT-SVID", secret: made.svid, file: "svid.jwt" });
          });
        }}
      >
        <Input label="Audience" value={audience} onChange={setAudience} hint="One or more, separated by commas." />
        <SubmitActions call={issue} verb="Issue" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
