import { create } from "@bufbuild/protobuf";
import { ListValueSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { signedIn } from "../clients/support.ts";
import type { TestApp } from "../support/app.ts";

/** Gives the owner's organization one or more of each thing that the pages show. */
export async function seedOrganization(
  app: TestApp,
  receiver = "https://receiver.test/events",
): Promise<{ orgUuid: string; webhookId: string }> {
  const { atrium } = await signedIn(app);
  const { orgUuid = "" } = await atrium.access.getMe({});
  const { webhookId } = await atrium.webhooks.createWebhook({ url: receiver, events: ["*"] });
  for (const [name, description] of [
    ["billing-worker", "Sends the invoices of the night"],
    ["report-builder", "Makes the reports of the week"],
  ] as const)
    await atrium.serviceIdentities.createServiceIdentity({ orgUuid, name, description, roleId: 3 });
  for (const [name, tags] of [
    ["database.password", ["production"]],
    ["database.url", ["production"]],
    ["mail.key", ["mail", "rotated"]],
  ] as const)
    for (const value of ["first", "second"])
      await atrium.vault.putSecret({
        orgUuid,
        name,
        value,
        tags: create(ListValueSchema, {
          values: tags.map((tag) => create(ValueSchema, { kind: { case: "stringValue", value: tag } })),
        }),
      });
  await atrium.credentials.createApiKey({ orgUuid, name: "ci", scopes: ["read:users"] });
  for (const email of ["ada@acme.test", "grace@acme.test", "edsger@acme.test"])
    await atrium.users.createInvitation({ orgUuid, email, roleId: 3 });
  return { orgUuid, webhookId };
}
