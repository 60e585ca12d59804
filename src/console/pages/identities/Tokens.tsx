import { useState } from "react";
import { ServiceIdentitiesService } from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import type { AutomationToken } from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useEvery } from "../../widgets/table/use-every.ts";
import { useCall } from "../../widgets/use-call.ts";

/** Automation tokens of an identity. */
export function Tokens({ identityId }: { identityId: string }) {
  const orgUuid = useOrg();
  const [revoked, setRevoked] = useState<AutomationToken>();
  const input = { orgUuid, identityId };
  const tokens = useEvery({ method: ServiceIdentitiesService.method.listAutomationTokens, input });
  const revoke = useCall(ServiceIdentitiesService.method.revokeAutomationToken, { done: "Automation token revoked" });
  return (
    <Section title="Automation tokens" about="For programs that call the API without a certificate.">
      <Answer of={tokens} lines={2}>
        {({ data }) =>
          data.length === 0 ? (
            <p>It has no automation token yet.</p>
          ) : (
            <Rows
              caption="Automation tokens"
              rows={data}
              rowKey={({ tokenId }) => tokenId}
              columns={[
                { header: "Name", cell: ({ name }) => name },
                { header: "Status", cell: ({ status }) => <Status of={status} /> },
                { header: "Last used", time: ({ lastUsedAt }) => lastUsedAt },
                { header: "Expires", time: ({ expiresAt }) => expiresAt },
              ]}
              actions={(token) =>
                token.status === "active" && (
                  <Button small title={token.name} onClick={() => setRevoked(token)}>
                    Revoke
                  </Button>
                )
              }
            />
          )
        }
      </Answer>
      <Confirm
        title={`Revoke ${revoked?.name ?? ""}?`}
        about="Programs that use it are refused from their next request on."
        verb="Revoke"
        open={revoked !== undefined}
        call={revoke}
        onCancel={() => setRevoked(undefined)}
        onConfirm={() => {
          if (revoked === undefined) return;
          void revoke.run({ orgUuid, tokenId: revoked.tokenId }).then((done) => done && setRevoked(undefined));
        }}
      />
    </Section>
  );
}
