import { create } from "@bufbuild/protobuf";
import { ListValueSchema } from "@bufbuild/protobuf/wkt";
import type { ListValue } from "@bufbuild/protobuf/wkt";
import { useEffect, useState } from "react";
import { PutSecretRequestSchema, VaultService } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import type { SecretValue } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { ShowAsCode } from "../../widgets/CodeSample.tsx";
import { Dialog, DialogActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Input, TextArea } from "../../widgets/form/Field.tsx";
import { listError } from "../../widgets/form/scope.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { FailureNotice, Notice } from "../../widgets/Notice.tsx";
import { useCall } from "../../widgets/use-call.ts";
import style from "./Vault.module.css";

interface WriteProps {
  /** The secret that gets a new version, and the version that the person saw; without, a new secret is written. */
  of?: { name: string; version: number; tags: readonly string[] | undefined };
  onClose: () => void;
}

/** Writes a secret with check-and-set: a version that somebody else wrote meanwhile is shown and not overwritten. */
export function WriteSecret({ of, onClose }: WriteProps) {
  const orgUuid = useOrg();
  const form = useForm(PutSecretRequestSchema, { orgUuid, name: of?.name ?? "", description: "" });
  const [value, setValue] = useState("");
  const before = of?.tags?.join(", ") ?? "";
  const [tags, setTags] = useState(before);
  const [theirs, setTheirs] = useState<SecretValue>();
  const call = useCall(VaultService.method.putSecret, { done: "Secret saved" });
  const comparison = useCall(VaultService.method.getSecret);
  const name = String(form.values.name);
  const conflict = call.failure?.code === "version_conflict";
  const look = async (): Promise<void> => {
    const secret = await comparison.run({ orgUuid, name });
    if (secret === undefined) return;
    setTheirs(secret);
  };
  // A conflict, and the version that was compared, are those of one name.
  useEffect(() => {
    call.clear();
    comparison.clear();
    setTheirs(undefined);
  }, [name]);
  return (
    <Dialog
      title={of === undefined ? "Create secret" : "New version"}
      open
      dirty={form.changed || value !== "" || tags !== before}
      onClose={onClose}
      {...(of !== undefined && { about: of.name })}
    >
      <FormBody
        form={form}
        onSubmit={form.submit(async ({ description, ...values }) => {
          const answer = await call.run({
            ...values,
            value,
            expectedVersion: theirs?.version ?? of?.version ?? 0,
            ...(description !== "" && { description: String(description) }),
            ...(tags !== before && { tags: listOf(tags) }),
          });
          if (answer !== undefined) onClose();
        })}
      >
        {of === undefined && <Field form={form} name="name" hint="Letters, digits, dots, dashes: database.password" />}
        <TextArea label="Value" value={value} onChange={setValue} autoComplete="off" spellCheck={false} />
        <Field
          form={form}
          name="description"
          {...(of !== undefined && { hint: "Stays as it is when it is left empty." })}
        />
        {(of === undefined || of.tags !== undefined) && (
          <Input
            label="Tags"
            value={tags}
            onChange={setTags}
            hint="Separated by commas"
            error={listError(call.failure, "tags")}
            autoComplete="off"
          />
        )}
        {conflict && (
          <Notice kind="warn">
            Somebody wrote another version meanwhile.{" "}
            <Button small busy={comparison.busy} onClick={() => void look()}>
              Compare
            </Button>
          </Notice>
        )}
        {conflict && comparison.failure !== undefined && <FailureNotice failure={comparison.failure} />}
        {theirs !== undefined && (
          <dl className={style["both"]}>
            <dt>Version {theirs.version}, theirs</dt>
            <dd>
              <pre>{theirs.value}</pre>
            </dd>
            <dt>Yours</dt>
            <dd>
              <pre>{value}</pre>
            </dd>
          </dl>
        )}
        <ShowAsCode
          http={`PUT /api/admin/organizations/${orgUuid}/secrets/${form.values.name || "database.password"}`}
          body={{ value: "…" }}
        />
        {call.failure !== undefined && !conflict && <FailureNotice failure={call.failure} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" busy={call.busy}>
            {of === undefined ? "Create" : "Save"}
          </Button>
        </DialogActions>
      </FormBody>
    </Dialog>
  );
}

/** Tags as the contract takes them: an empty list takes those there are away. */
function listOf(text: string): ListValue {
  const tags = text.split(",").map((tag) => tag.trim());
  const values = tags.filter((tag) => tag !== "").map((value) => ({ kind: { case: "stringValue" as const, value } }));
  return create(ListValueSchema, { values });
}
