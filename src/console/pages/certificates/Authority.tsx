import { useState } from "react";
import { CreateCaRequestSchema, MtlsCaService } from "../../../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import type { Ca } from "../../../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import { serviceUrl } from "../../settings.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { Copy } from "../../widgets/Copy.tsx";
import { ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Confirm, Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Life } from "../../widgets/Life.tsx";
import { Lines } from "../../widgets/Lines.tsx";
import { Facts, Section } from "../../widgets/Page.tsx";
import { download } from "../../widgets/table/csv.ts";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";

/** The certificate authority: what relying parties need of it, and how it ends. */
export function Authority({ ca, onIssue }: { ca: Ca; onIssue: () => void }) {
  const orgUuid = useOrg();
  const [removing, setRemoving] = useState(false);
  const remove = useCall(MtlsCaService.method.deleteCa, { done: "CA deleted" });
  const list = `${serviceUrl}/orgs/${orgUuid}/.well-known/ca.crl?ca_uuid=${ca.caUuid}`;
  return (
    <>
      <Section
        title="Certificate authority"
        actions={
          <>
            <Button look="primary" data-create onClick={onIssue}>
              Issue certificate
            </Button>
            <Button onClick={() => download("ca.pem", "application/x-pem-file", ca.certificate)}>
              Download ca.pem
            </Button>
            <Button onClick={() => setRemoving(true)}>Delete CA</Button>
          </>
        }
      >
        <Facts>
          {[
            ["Common name", ca.commonName],
            ["Key", ca.keyAlgorithm === "rsa4096" ? "RSA 4096" : "ECDSA P-256"],
            [
              "Expires",
              <span key="end">
                <Life from={ca.createdAt} to={ca.expiresAt} /> <Time at={ca.expiresAt} />
              </span>,
            ],
            ["Created", <Time key="made" at={ca.createdAt} />],
            [
              "Revocation list",
              <span key="crl">
                <code>{list}</code> <Copy text={list} what="address of the revocation list" />
              </span>,
            ],
          ]}
        </Facts>
        <Lines
          what="openssl line"
          before={`curl -s "${list}&format=pem" -o crl.pem`}
          line="openssl verify -crl_check -CAfile ca.pem -CRLfile crl.pem certificate.pem"
        />
      </Section>
      <Confirm
        title={`Delete ${ca.commonName}?`}
        about="Every certificate that it issued is refused from the next request on. It cannot be brought back."
        verb="Delete CA"
        typed={ca.commonName}
        open={removing}
        call={remove}
        onCancel={() => setRemoving(false)}
        onConfirm={() => void remove.run({ orgUuid }).then((done) => done && setRemoving(false))}
      />
    </>
  );
}

export function CreateCa({ onClose }: { onClose: () => void }) {
  const orgUuid = useOrg();
  const form = useForm(CreateCaRequestSchema, {
    orgUuid,
    commonName: "",
    keyAlgorithm: "ecdsa-p256",
    validityDays: 3650,
  });
  const call = useCall(MtlsCaService.method.createCa, { done: "CA created" });
  return (
    <Dialog title="Create CA" open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => (await call.run(values)) !== undefined && onClose())}
      >
        <Field form={form} name="commonName" placeholder="Acme internal CA" />
        <Select
          label="Key algorithm"
          value={form.values.keyAlgorithm ?? "ecdsa-p256"}
          onChange={(keyAlgorithm) => form.set({ keyAlgorithm })}
          options={[
            ["ecdsa-p256", "ECDSA P-256"],
            ["rsa4096", "RSA 4096"],
          ]}
        />
        <Field form={form} name="validityDays" />
        <ShowAsCode http={`POST /api/admin/organizations/${orgUuid}/mtls-ca`} body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
