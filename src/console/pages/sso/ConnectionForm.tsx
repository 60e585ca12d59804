import { create } from "@bufbuild/protobuf";
import { ListValueSchema } from "@bufbuild/protobuf/wkt";
import type { ListValue } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { CreateConnectionRequestSchema, OidcService } from "../../../../gen/atrium/oidc/v1/oidc_pb.ts";
import type { Connection } from "../../../../gen/atrium/oidc/v1/oidc_pb.ts";
import { serviceUrl } from "../../settings.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { Copy } from "../../widgets/Copy.tsx";
import { ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, DialogActions, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Input, Select, TextArea } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Facts } from "../../widgets/Page.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { entries, PRESETS } from "./presets.ts";
import type { Preset } from "./presets.ts";
import style from "./Sso.module.css";

interface FormProps {
  /** The connection that is changed; without, a new one is made. */
  of?: Connection;
  onClose: () => void;
}

const presetOf = (provider: string): Preset =>
  PRESETS.find((preset) => preset.provider === provider) ?? (PRESETS.at(-1) as Preset);

/** Makes or changes a connection. What a provider is known by fills in its discovery URL. */
export function ConnectionForm({ of, onClose }: FormProps) {
  const orgUuid = useOrg();
  const [provider, setProvider] = useState(of?.provider ?? "okta");
  const [parts, setParts] = useState<readonly string[]>([]);
  const [made, setMade] = useState<Connection>();
  const form = useForm(CreateConnectionRequestSchema, {
    name: of?.name ?? "",
    clientId: of?.clientId ?? "",
    clientSecret: "",
    discoveryUrl: of?.discoveryUrl ?? "",
    allowedDomains: of?.allowedDomains ?? [],
    // The console's own sign-in page: without it the button would not be shown there.
    redirectUris: of?.redirectUris ?? [serviceUrl],
  });
  // The page reads the connection again while the dialog is open.
  const [firstDomains] = useState(of?.allowedDomains.join(", ") ?? "");
  const [firstUris] = useState((of?.redirectUris ?? [serviceUrl]).join("\n"));
  const [domains, setDomains] = useState(firstDomains);
  const [uris, setUris] = useState(firstUris);
  const createCall = useCall(OidcService.method.createConnection);
  const update = useCall(OidcService.method.updateConnection, { done: "Connection saved" });
  const call = of === undefined ? createCall : update;
  const preset = presetOf(provider);
  const isChanged =
    form.changed || domains !== firstDomains || uris !== firstUris || parts.some((part) => part.trim() !== "");

  const setPart = (at: number, text: string): void => {
    const next = preset.parts.map((_part, index) => (index === at ? text : (parts[index] ?? "")));
    setParts(next);
    if (next.every((part) => part.trim() !== "")) form.set({ discoveryUrl: preset.discoveryUrl(...next) });
  };
  const choose = (next: string): void => {
    setProvider(next);
    setParts([]);
    const { parts: needed, discoveryUrl, label } = presetOf(next);
    const known = PRESETS.some((one) => one.label === form.values.name) || form.values.name === "";
    form.set({
      discoveryUrl: needed.length === 0 ? discoveryUrl() : "",
      ...(known && next !== "other" && { name: label }),
    });
  };
  const send = async (): Promise<void> => {
    const { name = "", discoveryUrl = "" } = form.values;
    // What is copied from a provider's page often has white space at its ends, with which no sign-in succeeds.
    const [clientId, clientSecret] = [form.values.clientId?.trim() ?? "", form.values.clientSecret?.trim() ?? ""];
    if (of !== undefined && !isChanged) return onClose();
    const answer =
      of === undefined
        ? await createCall.run({
            orgUuid,
            name,
            provider,
            clientId,
            clientSecret,
            discoveryUrl,
            allowedDomains: entries(domains),
            redirectUris: entries(uris),
          })
        : await update.run({
            orgUuid,
            connectionUuid: of.connectionUuid,
            ...(form.changes.name !== undefined && { name }),
            ...(clientSecret !== "" && { clientSecret }),
            ...(domains !== firstDomains && { allowedDomains: listOf(entries(domains)) }),
            ...(uris !== firstUris && { redirectUris: listOf(entries(uris)) }),
          });
    if (answer === undefined) return;
    if (of === undefined) setMade(answer);
    else onClose();
  };

  if (made !== undefined) return <Registered connection={made} preset={preset} onClose={onClose} />;
  return (
    <Dialog
      title={of === undefined ? "Create connection" : `Edit ${of.name}`}
      open
      wide
      dirty={isChanged}
      onClose={onClose}
    >
      <FormBody
        form={form}
        onSubmit={(event) => {
          // An unchanged secret is not sent.
          if (of === undefined) return form.submit(send)(event);
          event.preventDefault();
          void send();
        }}
      >
        {of === undefined && (
          <Select
            label="Provider"
            value={provider}
            onChange={choose}
            options={PRESETS.map((one) => [one.provider, one.label])}
            hint={preset.note}
          />
        )}
        <Field form={form} name="name" placeholder={preset.label} />
        {of === undefined && (
          <>
            {preset.parts.map(({ label, placeholder }, at) => (
              <Input
                key={label}
                label={label}
                placeholder={placeholder}
                value={parts[at] ?? ""}
                onChange={(text) => setPart(at, text)}
                spellCheck={false}
              />
            ))}
            <Field form={form} name="discoveryUrl" label="Discovery URL" type="url" spellCheck={false} />
            <Field form={form} name="clientId" hint={preset.credentials} autoComplete="off" />
          </>
        )}
        <Field
          form={form}
          name="clientSecret"
          type="password"
          autoComplete="new-password"
          {...(of !== undefined && { hint: "Leave it empty to keep the present one." })}
        />
        <Input
          label="Allowed domains"
          value={domains}
          onChange={setDomains}
          placeholder="example.com"
          hint="Mail domains that may enter, separated by commas. Without any, nobody is let in."
          error={call.failure?.fields["allowed_domains"] ?? form.errors["allowedDomains"]}
          spellCheck={false}
        />
        <TextArea
          label="Redirect URIs"
          value={uris}
          onChange={setUris}
          rows={3}
          hint={`One a line: where browsers go after a sign-in. ${serviceUrl} is the sign-in page of this console.`}
          error={call.failure?.fields["redirect_uris"] ?? form.errors["redirectUris"]}
          spellCheck={false}
        />
        {of === undefined && (
          <ShowAsCode
            http={`POST /api/admin/organizations/${orgUuid}/oidc-connections`}
            body={{ ...bodyOf(form.values), client_secret: "…", provider }}
          />
        )}
        <SubmitActions call={call} verb={of === undefined ? "Create" : "Save"} onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}

/** What has to be done at the provider once the connection has its address. */
function Registered({ connection, preset, onClose }: { connection: Connection; preset: Preset; onClose: () => void }) {
  const { redirectUri } = connection;
  return (
    <Dialog title={`Register ${connection.name} at the provider`} open wide onClose={onClose}>
      <Facts>
        {[
          [
            "Redirect URI",
            <span key="uri" className={style["uri"]}>
              <code>{redirectUri}</code>
              <Copy text={redirectUri} what="redirect URI" />
            </span>,
          ],
          ["Goes to", preset.redirectUriGoesTo],
          [
            "Back-channel logout URL",
            <code key="logout">{redirectUri.replace(/\/callback$/u, "/backchannel-logout")}</code>,
          ],
        ]}
      </Facts>
      <p className={style["about"]}>Afterwards test the connection, and sign in once yourself.</p>
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}

const listOf = (texts: readonly string[]): ListValue =>
  create(ListValueSchema, { values: texts.map((value) => ({ kind: { case: "stringValue" as const, value } })) });
