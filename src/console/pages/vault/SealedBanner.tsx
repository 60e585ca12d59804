import { useQuery } from "@connectrpc/connect-query";
import { VaultService } from "../../../../gen/atrium/vault/v1/vault_pb.ts";
import { failureOf } from "../../session/failures.ts";
import { useOrg } from "../../session/use-session.ts";
import { Notice } from "../../widgets/Notice.tsx";

/** Says that the vault is sealed, while it is. */
export function SealedBanner() {
  const orgUuid = useOrg();
  const { error } = useQuery(
    VaultService.method.listSecrets,
    { orgUuid, limit: 1 },
    { refetchInterval: 5_000, retry: false },
  );
  if (error === null || failureOf(error).code !== "vault_sealed") return null;
  return (
    <Notice kind="warn">
      The vault is sealed. Secrets can be neither read nor written until the operator unseals it.
    </Notice>
  );
}
