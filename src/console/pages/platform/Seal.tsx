import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { VaultService } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { Confirm, DialogActions } from "../../widgets/Dialog.tsx";
import { FormBody, Input, Radios } from "../../widgets/form/Field.tsx";
import { useGuard } from "../../widgets/guard.ts";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { useCall } from "../../widgets/use-call.ts";

/** The seal of the vault of this installation. */
export default function Seal() {
  const status = useQuery(VaultService.method.getSealStatus, {}, { refetchInterval: 5_000 });
  const [sealing, setSealing] = useState(false);
  const [kind, setKind] = useState("share");
  const [secret, setSecret] = useState("");
  useGuard(secret !== "");
  const seal = useCall(VaultService.method.seal, { done: "Vault sealed" });
  const unseal = useCall(VaultService.method.unseal, {
    done: ({ sealed, progress, threshold }) => (sealed ? `Share ${progress} of ${threshold} taken` : "Vault unsealed"),
  });
  return (
    <Page
      title="Vault seal"
      about="While the vault is sealed, no organization can read or write secrets. Every instance obeys."
      actions={status.data?.sealed === false && <Button onClick={() => setSealing(true)}>Seal</Button>}
    >
      <Answer of={status}>
        {({ sealed, threshold, shares, progress }) => (
          <>
            <Section title="State">
              <Facts>
                {[
                  ["Vault", <Status key="status" of={sealed ? "sealed" : "unsealed"} />],
                  ["Shares", shares === 0 ? "None were made" : `${threshold} of ${shares} unseal it`],
                  sealed && ["Entered", `${progress} of ${threshold}`],
                ]}
              </Facts>
            </Section>
            {sealed && (
              <Section title="Unseal">
                <FormBody
                  onSubmit={(event) => {
                    event.preventDefault();
                    void unseal
                      .run(kind === "key" ? { key: secret.trim() } : { share: secret.trim() })
                      .then((done) => done && setSecret(""));
                  }}
                >
                  <Radios
                    legend="Unseal with"
                    name="unseal-with"
                    value={kind}
                    onChange={setKind}
                    options={[
                      ["share", "A share"],
                      ["key", "The master key"],
                    ]}
                  />
                  <Input
                    label={kind === "key" ? "Key" : "Share"}
                    value={secret}
                    onChange={setSecret}
                    type="password"
                    autoComplete="off"
                  />
                  {unseal.failure !== undefined && <FailureNotice failure={unseal.failure} />}
                  <DialogActions>
                    <Button look="primary" type="submit" busy={unseal.busy}>
                      Unseal
                    </Button>
                  </DialogActions>
                </FormBody>
              </Section>
            )}
          </>
        )}
      </Answer>
      <Confirm
        title="Seal the vault?"
        about="Every organization of this installation loses its secrets until an operator unseals the vault."
        verb="Seal"
        typed="vault"
        open={sealing}
        call={seal}
        onCancel={() => setSealing(false)}
        onConfirm={() => void seal.run({}).then((done) => done && setSealing(false))}
      />
    </Page>
  );
}
