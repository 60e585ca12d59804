import { useQuery } from "@connectrpc/connect-query";
import { SpiffeService } from "../../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { failureOf } from "../../session/failures.ts";
import { serviceUrl } from "../../settings.ts";
import { useOrg } from "../../session/use-session.ts";
import { Copy } from "../../widgets/Copy.tsx";
import { Facts, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { plural } from "../../widgets/words.ts";

/** What relying parties verify the organization's SVIDs with. */
export function TrustBundle() {
  const orgUuid = useOrg();
  const bundle = useQuery(SpiffeService.method.getTrustBundle, {}, { retry: false });
  const isMissing = bundle.error !== null && failureOf(bundle.error).code === "not_found";
  const url = `${serviceUrl}/orgs/${orgUuid}/.well-known/spiffe-bundle`;
  return (
    <Section title="Trust bundle" about="What relying parties verify SVIDs and JWT-SVIDs of this organization with.">
      {isMissing ? (
        <p>The bundle is made with the first SVID.</p>
      ) : (
        <Answer of={bundle} lines={2}>
          {({ trustDomain, x509Authorities }) => (
            <Facts>
              {[
                ["Trust domain", <code key="domain">{trustDomain}</code>],
                ["Roots", plural(x509Authorities.length, "certificate")],
                [
                  "SPIFFE bundle",
                  <span key="url">
                    <code>{url}</code> <Copy text={url} what="address of the bundle" />
                  </span>,
                ],
              ]}
            </Facts>
          )}
        </Answer>
      )}
    </Section>
  );
}
