import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { ServiceIdentitiesService } from "../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { SpiffeService } from "../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { VaultService } from "../../gen/atrium/vault/v1/vault_pb.ts";
import { WebhooksService } from "../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import type { Extras, Tour } from "./tour.ts";

const ADMIN_ROLE = 1;

/** A workload gets an SVID, calls over mutual TLS, and is revoked in the middle of a stream. */
async function tourWorkload(tour: Tour, elevatedToken: string, mutualTls: Extras["mutualTls"]): Promise<void> {
  const { orgUuid, orgName, ownerToken, mark, connect, say } = tour;
  const { identityId } = await createClient(ServiceIdentitiesService, connect(ownerToken)).createServiceIdentity({
    orgUuid,
    name: `nightly-${mark}`,
    roleId: ADMIN_ROLE,
  });
  const spiffe = createClient(SpiffeService, connect(elevatedToken));
  const svid = await spiffe.issueSvid({ serviceIdentityId: identityId });
  say(`18. A workload of ${orgName} gets an SVID for an hour: ${svid.spiffeId}`);
  if (mutualTls === undefined) return say("    mutual TLS is not at hand, so the workload calls nobody");

  const nodeOptions = {
    ca: mutualTls.certificate,
    cert: svid.certificatePem,
    key: svid.privateKeyPem,
    servername: "localhost",
  };
  const workload = createGrpcTransport({ baseUrl: mutualTls.address, nodeOptions });
  const { principal, roles } = await createClient(AccessService, workload).getMe({});
  say(`19. It calls over mutual TLS, without a token: ${principal?.type} with the role ${roles.join(", ")}`);

  const webhooks = createClient(WebhooksService, connect(ownerToken));
  const hook = { url: "http://127.0.0.1:9/events", events: ["install.active"], scope: "org" };
  const { webhookId } = await webhooks.createWebhook(hook);
  const stream = createClient(WebhooksService, workload).watchDeliveries({ webhookId })[Symbol.asyncIterator]();
  const ended = stream.next().then(
    () => Promise.reject(new Error("a delivery arrived that nobody caused")),
    (error: unknown) => ConnectError.from(error),
  );
  say("20. It follows the deliveries of a webhook as a stream");
  await spiffe.revokeSvid({ svidId: svid.svidId });
  const revokedAt = Date.now();
  const { code } = await ended;
  const after = `${((Date.now() - revokedAt) / 1000).toFixed(1)} s`;
  say(`    its SVID is revoked; the open stream ends ${after} later: ${Code[code]}`);
  const again = await createClient(AccessService, workload)
    .getMe({})
    .then(
      () => "accepted",
      (error: unknown) => `refused: ${Code[ConnectError.from(error).code]}`,
    );
  if (again === "accepted") throw new Error("a revoked SVID was accepted");
  say(`    and the next call on that connection is ${again}`);
  await webhooks.deleteWebhook({ webhookId });
}

/** A secret is written and rotated; the vault is sealed and unsealed. */
async function tourVault(tour: Tour, elevatedToken: string, masterKey: string | undefined): Promise<void> {
  const { orgUuid, ownerToken, platformToken, connect, say } = tour;
  const vault = createClient(VaultService, connect(ownerToken));
  const operator = createClient(VaultService, connect(platformToken));
  const name = "database-password";
  const first = await vault.putSecret({ orgUuid, name, value: "swordfish" });
  const second = await vault.putSecret({ orgUuid, name, value: "marlin", expectedVersion: first.version });
  say(`21. A secret is written, and its value is replaced: ${name}, versions ${first.version} and ${second.version}`);
  const refused = await vault.putSecret({ orgUuid, name, value: "late", expectedVersion: first.version }).then(
    () => Promise.reject(new Error("a write that expected an older version was accepted")),
    (error: unknown) => ConnectError.from(error).rawMessage,
  );
  say(`    a write that still expects version ${first.version} is refused: ${refused}`);
  await createClient(VaultService, connect(elevatedToken)).rotateKmsKey({ orgUuid });
  say(`    the organization's key is rotated; the secret reads as ${(await vault.getSecret({ orgUuid, name })).value}`);
  if (masterKey === undefined) return say("    the master key is not at hand, so the vault is not sealed");

  await operator.seal({});
  try {
    const sealed = await vault.getSecret({ orgUuid, name }).then(
      () => Promise.reject(new Error("a sealed vault gave a secret away")),
      (error: unknown) => ConnectError.from(error).rawMessage,
    );
    say(`22. An operator seals the vault, and reading is refused: ${sealed}`);
  } finally {
    await operator.unseal({ key: masterKey });
  }
  say(`    the master key unseals it, and the secret reads as ${(await vault.getSecret({ orgUuid, name })).value}`);
}

/** Trust: workloads and the vault. */
export async function tourTrust(tour: Tour, elevatedToken: string, { mutualTls, masterKey }: Extras): Promise<void> {
  await tourWorkload(tour, elevatedToken, mutualTls);
  await tourVault(tour, elevatedToken, masterKey);
}
