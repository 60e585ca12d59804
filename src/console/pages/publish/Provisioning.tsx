import { useState } from "react";
import type { App } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { Confirm, SecretDialog } from "../../widgets/Dialog.tsx";
import { ExternalLink } from "../../widgets/ExternalLink.tsx";
import { Facts, Section } from "../../widgets/Page.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { Calls } from "./Calls.tsx";
import { SamplePublisher } from "./SamplePublisher.tsx";

/** How an app is told of its installs: the endpoint, its secret, what it was sent, and a server to start from. */
export function Provisioning({ app }: { app: App }) {
  const { appId, name } = app;
  const [asked, setAsked] = useState<"secret" | "key">();
  const [secret, setSecret] = useState<string>();
  const rotate = useCall(PublisherService.method.rotateWebhookSecret);
  const rotateKey = useCall(PublisherService.method.rotateSigningKey, { done: "App key rotated" });
  const close = (): void => setAsked(undefined);
  return (
    <>
      <Section
        title="Provisioning"
        actions={
          <>
            <Button onClick={() => setAsked("secret")}>Rotate provision secret</Button>
            <Button onClick={() => setAsked("key")}>Rotate app key</Button>
          </>
        }
      >
        <Facts>{[["Provision webhook", <ExternalLink key="url" href={app.provisionWebhook} />]]}</Facts>
      </Section>
      <Calls app={app} />
      <SamplePublisher app={app} />
      <Confirm
        title="Rotate the provision secret?"
        about="The old secret stops at once: your endpoint must have the new one before the next call."
        verb="Rotate"
        typed={name}
        open={asked === "secret"}
        call={rotate}
        onCancel={close}
        onConfirm={() =>
          void rotate.run({ appId }).then((done) => {
            if (done === undefined) return;
            close();
            setSecret(done.webhookSecret);
          })
        }
      />
      <Confirm
        title="Rotate the app key?"
        about="Tokens issued before lose this app's admin power, and nothing else."
        verb="Rotate"
        typed={name}
        open={asked === "key"}
        call={rotateKey}
        onCancel={close}
        onConfirm={() => void rotateKey.run({ appId }).then((done) => done && close())}
      />
      <SecretDialog
        thing="provision secret"
        secret={secret}
        file="provision-secret.txt"
        onSaved={() => setSecret(undefined)}
      />
    </>
  );
}
