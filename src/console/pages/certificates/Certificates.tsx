import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { MtlsCaService } from "../../../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import type { Ca, Certificate } from "../../../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import { failureOf } from "../../session/failures.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm, SecretDialog } from "../../widgets/Dialog.tsx";
import { Life } from "../../widgets/Life.tsx";
import { Page } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { download } from "../../widgets/table/csv.ts";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { isoOf, Time } from "../../widgets/Time.tsx";
import { alertToast } from "../../widgets/toasts.ts";
import { useCall } from "../../widgets/use-call.ts";
import { Authority, CreateCa } from "./Authority.tsx";
import { Issue } from "./Issue.tsx";
import type { Issued } from "./Issue.tsx";

/** The organization's own certificate authority and the client certificates it has issued. */
export default function Certificates() {
  const orgUuid = useOrg();
  const ca = useQuery(MtlsCaService.method.getCa, { orgUuid }, { retry: false });
  const [creating, setCreating] = useState(false);
  const isMissing = ca.error !== null && failureOf(ca.error).code === "not_found";
  return (
    <Page
      title="Certificates"
      about="A certificate authority of this organization. Its client certificates open a TLS handshake, never a route."
    >
      {isMissing ? (
        <Empty
          text="This organization has no certificate authority yet."
          action={
            <Button look="primary" data-create onClick={() => setCreating(true)}>
              Create CA
            </Button>
          }
          api={`POST /api/admin/organizations/${orgUuid}/mtls-ca`}
        />
      ) : (
        <Answer of={ca}>{(authority) => <Issuing ca={authority} />}</Answer>
      )}
      <CodeSample
        http={`POST /api/admin/organizations/${orgUuid}/mtls-ca/certificates`}
        body={{ common_name: "worker", sans: ["worker.example.com"], validity_days: 90 }}
      />
      {creating && <CreateCa onClose={() => setCreating(false)} />}
    </Page>
  );
}

function Issuing({ ca }: { ca: Ca }) {
  const orgUuid = useOrg();
  const [issuing, setIssuing] = useState(false);
  const [issued, setIssued] = useState<Issued>();
  const [revoked, setRevoked] = useState<Certificate>();
  const revoke = useCall(MtlsCaService.method.revokeCertificate, { done: "Certificate revoked" });
  const read = useCall(MtlsCaService.method.getCertificate, { onFailure: alertToast });
  const save = async (certUuid: string): Promise<void> => {
    const found = await read.run({ orgUuid, certUuid });
    if (found?.certificate !== undefined) download("certificate.pem", "application/x-pem-file", found.certificate);
  };
  return (
    <>
      <Authority ca={ca} onIssue={() => setIssuing(true)} />
      <DataTable
        caption="Certificates"
        things="certificates"
        method={MtlsCaService.method.listCertificates}
        filters={[
          {
            name: "status",
            label: "Status",
            values: [
              ["active", "Active"],
              ["revoked", "Revoked"],
              ["expired", "Expired"],
            ],
          },
        ]}
        input={{ orgUuid }}
        rowKey={({ certUuid }) => certUuid}
        columns={[
          {
            header: "Common name",
            sort: "common_name",
            cell: ({ commonName }) => commonName,
            csv: ({ commonName }) => commonName,
          },
          { header: "Serial", cell: ({ serial }) => <Id of={serial} what="serial" />, csv: ({ serial }) => serial },
          {
            header: "Alternative names",
            cell: ({ sans }) => sans.join(", ") || "–",
            csv: ({ sans }) => sans.join(" "),
          },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
          {
            header: "Expires",
            sort: "not_after",
            cell: ({ notBefore, notAfter }) => (
              <>
                <Life from={notBefore} to={notAfter} /> <Time at={notAfter} />
              </>
            ),
            csv: ({ notAfter }) => isoOf(notAfter),
          },
        ]}
        actions={({ certUuid, commonName, ...certificate }) => (
          <>
            <Button small title={commonName} onClick={() => void save(certUuid)}>
              Download
            </Button>
            {certificate.status === "active" && (
              <Button small title={commonName} onClick={() => setRevoked({ certUuid, commonName, ...certificate })}>
                Revoke
              </Button>
            )}
          </>
        )}
        empty={{
          text: "No certificate has been issued yet.",
          api: `POST /api/admin/organizations/${orgUuid}/mtls-ca/certificates`,
        }}
      />
      {issuing && <Issue onClose={() => setIssuing(false)} onIssued={setIssued} />}
      <SecretDialog
        thing="certificate"
        secret={issued?.pem}
        file="certificate.pem"
        about={
          issued?.keyStayed === true
            ? "The certificate and its private key, which was made in this browser and was sent to nobody."
            : "The certificate and its private key, which the service does not keep. They are shown once."
        }
        onSaved={() => setIssued(undefined)}
      />
      <Confirm
        title={`Revoke ${revoked?.commonName ?? ""}?`}
        about="It is refused from the next request on, and stands on the revocation list."
        verb="Revoke"
        open={revoked !== undefined}
        call={revoke}
        onCancel={() => setRevoked(undefined)}
        onConfirm={() => {
          if (revoked === undefined) return;
          const { certUuid } = revoked;
          void revoke.run({ orgUuid, certUuid }).then((done) => done && setRevoked(undefined));
        }}
      />
    </>
  );
}
