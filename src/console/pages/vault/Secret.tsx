import { useQuery } from "@connectrpc/connect-query";
import { useQuery as useQueryOf } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { VaultService } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import type { SecretItem, SecretValue } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Copy } from "../../widgets/Copy.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Check } from "../../widgets/form/Field.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { readUntil } from "../../widgets/table/read-until.ts";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { Readers } from "./Readers.tsx";
import { SealedBanner } from "./SealedBanner.tsx";
import { WriteSecret } from "./WriteSecret.tsx";
import style from "./Vault.module.css";

/** How long a revealed value stays on the screen. */
const SHOWN_MS = 30_000;

/** Tags of a secret; undefined until they are known. They are in the list alone, where many names may contain its. */
function useTags(orgUuid: string, name: string): readonly string[] | undefined {
  const isIt = (secret: SecretItem): boolean => secret.name === name;
  const input = { orgUuid, q: name, sort: "name" };
  const { data } = useQueryOf({
    queryKey: ["tags", orgUuid, name],
    queryFn: async ({ signal }) => {
      const read = await readUntil({ method: VaultService.method.listSecrets, input }, isIt, signal);
      return read.find(isIt) ?? null;
    },
  });
  return data?.tags;
}

/** One secret: its versions, and its value when it is asked for. */
export default function Secret() {
  const orgUuid = useOrg();
  const { secret: name = "" }: { secret?: string } = useParams({ strict: false });
  const navigate = useNavigate();
  const versions = useQuery(VaultService.method.listVersions, { orgUuid, name });
  const tags = useTags(orgUuid, name);
  const read = useCall(VaultService.method.getVersion);
  const restore = useCall(VaultService.method.restoreSecret, { done: "Secret restored" });
  const remove = useCall(VaultService.method.deleteSecret, {
    done: "Secret deleted",
    undo: () => void restore.run({ orgUuid, name }),
  });
  const [writing, setWriting] = useState(false);
  const [removing, setRemoving] = useState(false);
  const [chosen, setChosen] = useState<readonly number[]>([]);
  const [shown, setShown] = useState<readonly SecretValue[]>([]);
  const description = shown[0]?.description;
  const latest = versions.data?.data.reduce((most, { version }) => Math.max(most, version), 0) ?? 0;

  // A value disappears when the window loses the focus, and after 30 seconds.
  useEffect(() => {
    if (shown.length === 0) return;
    const hide = (): void => setShown([]);
    const timer = setTimeout(hide, SHOWN_MS);
    addEventListener("blur", hide);
    return () => {
      clearTimeout(timer);
      removeEventListener("blur", hide);
    };
  }, [shown]);

  const reveal = async (numbers: readonly number[]): Promise<void> => {
    const values: SecretValue[] = [];
    for (const version of numbers) {
      const value = await read.run({ orgUuid, name, version });
      if (value !== undefined) values.push(value);
    }
    setShown(values);
  };

  return (
    <Page
      title={name}
      actions={
        <>
          <Button look="primary" data-create disabled={latest === 0} onClick={() => setWriting(true)}>
            New version
          </Button>
          <Button busy={read.busy} disabled={latest === 0} onClick={() => void reveal([latest])}>
            Reveal
          </Button>
          <Button disabled={latest === 0} onClick={() => setRemoving(true)}>
            Delete
          </Button>
        </>
      }
    >
      <SealedBanner />
      {tags !== undefined && <Facts>{[["Tags", tags.join(", ") || "None"]]}</Facts>}
      {read.failure !== undefined && <FailureNotice failure={read.failure} />}
      {shown.length > 0 && (
        <Section title="Value" about="Hidden after 30 seconds, and when you leave this window.">
          {description !== undefined && <p>{description}</p>}
          <div className={style["compare"]}>
            {shown.map(({ version, value }) => (
              <div key={version}>
                <h3>
                  Version {version} <Copy text={value} what={`version ${version}`} />
                </h3>
                <pre className={style["value"]} tabIndex={0}>
                  {value}
                </pre>
              </div>
            ))}
          </div>
          <Button onClick={() => setShown([])}>Hide</Button>
        </Section>
      )}
      <Section
        title="Versions"
        actions={
          <Button disabled={chosen.length !== 2} onClick={() => void reveal(chosen.toSorted((a, b) => a - b))}>
            Compare
          </Button>
        }
      >
        <Answer of={versions} backLink={["/console/vault", "Go to the vault"]}>
          {({ data }) => (
            <ul className={style["versions"]}>
              {data.map(({ version, createdAt }) => (
                <li key={version}>
                  <Check
                    label={`Version ${version}`}
                    checked={chosen.includes(version)}
                    onChange={(on) =>
                      setChosen(on ? [...chosen.slice(-1), version] : chosen.filter((other) => other !== version))
                    }
                  />
                  <Time at={createdAt} />
                </li>
              ))}
            </ul>
          )}
        </Answer>
      </Section>
      <Readers />
      <CodeSample http={`GET /api/admin/organizations/${orgUuid}/secrets/${encodeURIComponent(name)}`} />
      {writing && <WriteSecret of={{ name, version: latest, tags }} onClose={() => setWriting(false)} />}
      <Confirm
        title={`Delete ${name}?`}
        about="Programs that read it get 404 at once. It can be restored for 30 days."
        verb="Delete"
        typed={name}
        open={removing}
        call={remove}
        onCancel={() => setRemoving(false)}
        onConfirm={() =>
          void remove.run({ orgUuid, name }).then((done) => done && void navigate({ to: "/console/vault" }))
        }
      />
    </Page>
  );
}
