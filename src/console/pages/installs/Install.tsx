import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { BuyerService } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import type { Install as InstallRecord } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { holds } from "../../powers.ts";
import { useMe } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { ExternalLink } from "../../widgets/ExternalLink.tsx";
import { Notice } from "../../widgets/Notice.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Failed, Skeleton } from "../../widgets/States.tsx";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { PlanName } from "./PlanName.tsx";
import { Timeline } from "./Timeline.tsx";
import style from "./Timeline.module.css";
import { useInstall } from "./use-install.ts";

/** One install, followed live. */
export default function Install() {
  const { install: installId = "" }: { install?: string } = useParams({ strict: false });
  const { install, error, live, retry } = useInstall(installId);
  if (install === undefined)
    return (
      <Page title="Install">
        {error === undefined ? (
          <Skeleton />
        ) : (
          <Failed error={error} retry={retry} backLink={["/console/installs", "Go to the installs"]} />
        )}
      </Page>
    );
  return <Details install={install} live={live} />;
}

function Details({ install, live }: { install: InstallRecord; live: boolean }) {
  const me = useMe();
  const [asking, setAsking] = useState(false);
  const uninstall = useCall(BuyerService.method.uninstallApp, { done: "Uninstall requested" });
  const name = install.app?.name ?? "Install";
  const provisioning = install.status === "provisioning";
  const ends = provisioning || install.status === "active" || install.status === "suspended";
  const verb = provisioning ? "Cancel install" : "Uninstall";
  return (
    <Page
      title={name}
      about={<Status of={install.status} />}
      actions={
        <>
          {install.status === "active" && <ExternalLink href={install.endpointUrl} label="Open app" />}
          {ends && holds(me, "admin") && <Button onClick={() => setAsking(true)}>{verb}</Button>}
        </>
      }
    >
      {install.status === "suspended" && (
        <Notice kind="warn">The publisher has suspended this install. It can be resumed by the publisher alone.</Notice>
      )}
      {install.paymentSource === "direct" && ends && holds(me, "admin") && (
        <Notice>
          Nothing was paid for this install yet.{" "}
          <Link to="/console/billing" search={{ install: install.installId }}>
            Quote and pay
          </Link>
        </Notice>
      )}
      {install.failureReason !== undefined && <Notice kind="bad">{install.failureReason}</Notice>}
      <Section
        title="Timeline"
        actions={
          <span className={style["live"]} data-off={live ? undefined : ""}>
            {live ? "Live" : "Not live"}
          </span>
        }
      >
        <Timeline of={install} />
      </Section>
      <Section title="Details">
        <Facts>
          {[
            ["Install id", <Id key="id" of={install.installId} what="install id" />],
            ["Plan", <PlanName key="plan" slug={install.app?.slug} planId={install.planId} />],
            ["Seats", install.quantity.toLocaleString("en")],
            ["Deployment", inWords(install.deploymentMode)],
            ["Payment", inWords(install.paymentSource)],
            ["Period ends", <Time key="end" at={install.currentPeriodEnd} none="nothing was paid yet" />],
            ["Address", <ExternalLink key="url" href={install.endpointUrl} />],
            ["Installed", <Time key="made" at={install.createdAt} />],
          ]}
        </Facts>
      </Section>
      <CodeSample http={`GET /api/installs/${install.installId}`} />
      <Confirm
        title={`${verb} ${name}?`}
        about={
          provisioning
            ? `${name} is not ready yet. The publisher is told to stop and to remove what it has made.`
            : `Everybody in this organization loses ${name}. The publisher removes its data.`
        }
        verb={verb}
        typed={name}
        open={asking}
        call={uninstall}
        onCancel={() => setAsking(false)}
        onConfirm={() => void uninstall.run({ installId: install.installId }).then((done) => done && setAsking(false))}
      />
    </Page>
  );
}
