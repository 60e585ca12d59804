import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { SigningKeysService } from "../../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { ButtonLink } from "../../widgets/Button.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Time } from "../../widgets/Time.tsx";
import style from "./Overview.module.css";

/** Two keys are served during an overlap of this length (decisions 6.1). */
const OVERLAP_MS = 24 * 3_600_000;

/** The key that signs, and how long the one before it still verifies. */
export function KeyOverlap() {
  const orgUuid = useOrg();
  const keys = useQuery(SigningKeysService.method.listSigningKeys, { orgUuid });
  return (
    <Section title="Signing keys" actions={<ButtonLink to="/console/keys">Signing keys</ButtonLink>}>
      <Answer of={keys}>
        {({ data }) => (
          <ul className={style["rows"]}>
            {data.map(({ keyId, active, validUntil, createdAt }) => {
              const left = validUntil === undefined ? 0 : timestampMs(validUntil) - Date.now();
              if (!active && left <= 0) return null;
              return (
                <li key={keyId}>
                  <Id of={keyId} what="key id" />
                  {active ? (
                    <span>
                      signs since <Time at={createdAt} />
                    </span>
                  ) : (
                    <span className={style["overlap"]}>
                      <meter min={0} max={OVERLAP_MS} value={left} aria-label="Overlap left" />
                      verifies until <Time at={validUntil} />
                    </span>
                  )}
                </li>
              );
            })}
          </ul>
        )}
      </Answer>
    </Section>
  );
}
