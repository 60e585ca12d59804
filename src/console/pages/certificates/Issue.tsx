import { useRef, useState } from "react";
import { IssueCertificateRequestSchema, MtlsCaService } from "../../../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import type { Failure } from "../../session/failures.ts";
import { useOrg } from "../../session/use-session.ts";
import { ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Input, Radios } from "../../widgets/form/Field.tsx";
import { listError } from "../../widgets/form/scope.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { useCall } from "../../widgets/use-call.ts";
import type { KeyAndRequest } from "./csr.ts";

/** A certificate with its key, as it is shown once. */
export interface Issued {
  pem: string;
  /** Whether the key was made in this browser and never left it. */
  keyStayed: boolean;
}

const NOT_PREPARED: Failure = {
  code: "offline",
  message: "This browser could not make the key. Reload the page and try again.",
  requestId: undefined,
  retryAfter: undefined,
  fields: {},
};

/** Issues a certificate for a key of this browser, of somebody's own request, or of the service. */
export function Issue({ onClose, onIssued }: { onClose: () => void; onIssued: (issued: Issued) => void }) {
  const orgUuid = useOrg();
  const [source, setSource] = useState("browser");
  const [sans, setSans] = useState("");
  const [preparing, setPreparing] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const prepared = useRef<KeyAndRequest & { commonName: string }>(undefined);
  const form = useForm(IssueCertificateRequestSchema, { orgUuid, commonName: "", validityDays: 90 });
  const call = useCall(MtlsCaService.method.issueCertificate);
  /** A key and its request, the same until they are certified: a repetition after a lost answer asks again. */
  const prepare = async (commonName: string): Promise<KeyAndRequest> => {
    if (prepared.current?.commonName === commonName) return prepared.current;
    // The library loads where it is needed: most visits to this page issue nothing.
    const { requestCertificate } = await import("./csr.ts");
    prepared.current = { commonName, ...(await requestCertificate(commonName)) };
    return prepared.current;
  };
  const send = async (): Promise<void> => {
    const { commonName = "", validityDays } = form.values;
    setPreparing(true);
    setFailure(undefined);
    let own: KeyAndRequest | undefined;
    try {
      if (source === "browser") own = await prepare(commonName);
    } catch {
      setFailure(NOT_PREPARED);
      return;
    } finally {
      setPreparing(false);
    }
    const made = await call.run({
      orgUuid,
      commonName,
      validityDays,
      sans: sans.split(/[\s,]+/u).filter(Boolean),
      ...(own !== undefined && { csr: own.csr }),
    });
    if (made === undefined) return;
    onClose();
    onIssued({
      pem: `${made.certificate ?? ""}${own?.privateKey ?? made.privateKey ?? ""}`,
      keyStayed: own !== undefined,
    });
  };
  return (
    <Dialog title="Issue certificate" open dirty={form.changed || sans !== ""} onClose={onClose}>
      <FormBody form={form} onSubmit={form.submit(send)}>
        <Field form={form} name="commonName" placeholder="worker" />
        <Input
          label="SANs"
          value={sans}
          onChange={setSans}
          placeholder="worker.example.com, 10.0.0.7"
          hint="Alternative names: DNS names and IP addresses, separated by commas."
          error={listError(call.failure, "sans")}
          spellCheck={false}
        />
        <Field form={form} name="validityDays" />
        <Radios
          legend="Private key"
          name="key"
          value={source}
          onChange={setSource}
          options={[
            ["browser", "Made in this browser, which it never leaves (P-256)"],
            ["service", "Made by the service, shown once"],
          ]}
        />
        <ShowAsCode http={`POST /api/admin/organizations/${orgUuid}/mtls-ca/certificates`} body={bodyOf(form.values)} />
        <SubmitActions
          call={{ busy: call.busy || preparing, failure: failure ?? call.failure }}
          verb="Issue"
          onCancel={onClose}
        />
      </FormBody>
    </Dialog>
  );
}
