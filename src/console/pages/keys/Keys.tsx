import { useQuery } from "@connectrpc/connect-query";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import {
  CreateSigningKeyRequestSchema,
  SigningKeysService,
} from "../../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import type { SigningKey } from "../../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Copy, Id } from "../../widgets/Copy.tsx";
import { Confirm, Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { SignAndDecode } from "./SignAndDecode.tsx";
import style from "./Keys.module.css";

/** Two keys are served during an overlap of this length (decisions 6.1). */
const OVERLAP_MS = 24 * 3_600_000;

const ALGORITHMS = [
  ["ed25519", "Ed25519 (EdDSA)"],
  ["rsa4096", "RSA 4096 (RS256)"],
] as const;

/** The keys that sign the tokens of the organization. */
export default function Keys() {
  const orgUuid = useOrg();
  const keys = useQuery(SigningKeysService.method.listSigningKeys, { orgUuid });
  const jwks = useQuery(SigningKeysService.method.getOrganizationJwks, { orgUuid });
  const [creating, setCreating] = useState(false);
  const [rotating, setRotating] = useState(false);
  const [removed, setRemoved] = useState<SigningKey>();
  const rotate = useCall(SigningKeysService.method.rotateSigningKey, { done: "Signing key rotated" });
  const remove = useCall(SigningKeysService.method.deleteSigningKey, { done: "Signing key deleted" });
  return (
    <Page
      title="Signing keys"
      about="Tokens of this organization are signed with the active key. Relying parties verify them with the JWKS."
      actions={
        <>
          <Button look="primary" onClick={() => setRotating(true)}>
            Rotate
          </Button>
          <Button data-create onClick={() => setCreating(true)}>
            Create signing key
          </Button>
        </>
      }
    >
      <Answer of={keys}>
        {({ data }) => (
          <Rows
            caption="Signing keys"
            rows={data}
            rowKey={({ keyId }) => keyId}
            columns={[
              { header: "Key", cell: ({ keyId }) => <Id of={keyId} what="key id" /> },
              {
                header: "Algorithm",
                cell: ({ algorithm }) => ALGORITHMS.find(([one]) => one === algorithm)?.[1] ?? algorithm,
              },
              { header: "Description", cell: ({ description }) => description },
              {
                header: "State",
                cell: ({ active, validUntil }) => (active ? <Status of="active" /> : <Overlap until={validUntil} />),
              },
              { header: "Created", time: ({ createdAt }) => createdAt },
              { header: "PEM", cell: ({ publicKey }) => <Copy text={publicKey} what="public key as PEM" /> },
            ]}
            actions={(key) =>
              // The service refuses to delete the key that signs.
              !key.active && (
                <Button small title={key.keyId} onClick={() => setRemoved(key)}>
                  Delete
                </Button>
              )
            }
          />
        )}
      </Answer>
      <Section title="JWKS as served now" about="What relying parties get, to be kept for at most five minutes.">
        <Answer of={jwks}>
          {({ keys: served }) => (
            <pre className={style["jwks"]} tabIndex={0}>
              {JSON.stringify({ keys: served.map(({ $typeName: _, $unknown: __, ...key }) => key) }, null, 2)}
            </pre>
          )}
        </Answer>
      </Section>
      <SignAndDecode activeKey={keys.data?.data.find(({ active }) => active)?.keyId} />
      <CodeSample http={`GET /api/organizations/${orgUuid}/.well-known/jwks.json`} isPublic />
      {creating && <Create onClose={() => setCreating(false)} />}
      <Confirm
        title="Rotate the signing key?"
        about="A new key signs from now on. The present one verifies for 24 hours; only then can keys be rotated again."
        verb="Rotate"
        open={rotating}
        call={rotate}
        onCancel={() => setRotating(false)}
        onConfirm={() => void rotate.run({ orgUuid }).then((done) => done && setRotating(false))}
      />
      <Confirm
        title="Delete this signing key?"
        about="It leaves the JWKS at once: whatever was signed with it is refused from the next request on."
        verb="Delete"
        typed={removed?.keyId}
        open={removed !== undefined}
        call={remove}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() => {
          if (removed === undefined) return;
          void remove.run({ orgUuid, keyId: removed.keyId }).then((done) => done && setRemoved(undefined));
        }}
      />
    </Page>
  );
}

/** How much of the overlap is left. */
function Overlap({ until }: { until: Timestamp | undefined }) {
  if (until === undefined) return <>Retired</>;
  const left = timestampDate(until).getTime() - Date.now();
  if (left <= 0) return <>Ended</>;
  return (
    <span className={style["overlap"]}>
      <meter min={0} max={OVERLAP_MS} value={left} aria-label="Overlap left" />
      verifies until <Time at={until} />
    </span>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const orgUuid = useOrg();
  const form = useForm(CreateSigningKeyRequestSchema, { orgUuid, algorithm: "ed25519", description: "" });
  const call = useCall(SigningKeysService.method.createSigningKey, { done: "Signing key created" });
  return (
    <Dialog
      title="Create signing key"
      about="The new key becomes the active one. The present key verifies for 24 hours more."
      open
      dirty={form.changed}
      onClose={onClose}
    >
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => (await call.run(values)) !== undefined && onClose())}
      >
        <Select
          label="Algorithm"
          value={String(form.values.algorithm)}
          onChange={(algorithm) => form.set({ algorithm })}
          options={ALGORITHMS}
        />
        <Field form={form} name="description" />
        <ShowAsCode http={`POST /api/admin/organizations/${orgUuid}/signing-keys`} body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
