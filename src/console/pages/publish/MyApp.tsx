import { useQuery } from "@connectrpc/connect-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { AccessService } from "../../../../gen/atrium/access/v1/access_pb.ts";
import type { App } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button, ButtonLink } from "../../widgets/Button.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Notice } from "../../widgets/Notice.tsx";
import { Page } from "../../widgets/Page.tsx";
import { PageTabs } from "../../widgets/PageTabs.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { Admins } from "./Admins.tsx";
import { AppInstalls } from "./AppInstalls.tsx";
import { AppPlans } from "./AppPlans.tsx";
import { Listing } from "./Listing.tsx";
import { Provisioning } from "./Provisioning.tsx";
import { useOwnApp } from "./use-own-app.ts";

/** One app of the caller's organization: all of it for those who administer it, its listing for other members. */
export default function MyApp() {
  const { app: appId = "" }: { app?: string } = useParams({ strict: false });
  const answer = useOwnApp(appId);
  const app = answer.data ?? undefined;
  const access = useQuery(AccessService.method.getAppAccess, { appId }, { enabled: app !== undefined });
  if (app === undefined)
    return (
      <Page title="App">
        <Answer of={answer} fresh>
          {() => (
            <Empty
              text="Your organization publishes no app with this id."
              action={<ButtonLink to="/console/publish">Go to your apps</ButtonLink>}
            />
          )}
        </Answer>
      </Page>
    );
  if (access.data?.isAppAdmin === true) return <Details app={app} />;
  return (
    <Page title={app.name} about={<Status of={app.status} />}>
      <Answer of={access}>
        {() => (
          <>
            <Notice>
              You do not administer this app. Owners of your organization do, and those to whom one of its admins gives
              it.
            </Notice>
            <Listing app={app} isAdmin={false} />
          </>
        )}
      </Answer>
    </Page>
  );
}

function Details({ app }: { app: App }) {
  const { appId, name } = app;
  const [asking, setAsking] = useState(false);
  const archive = useCall(PublisherService.method.archiveApp, { done: "App archived" });
  return (
    <Page
      title={name}
      about={<Status of={app.status} />}
      actions={app.status !== "archived" && <Button onClick={() => setAsking(true)}>Archive</Button>}
    >
      {app.status === "rejected" && (
        <Notice kind="bad">
          {app.rejectionReason === undefined
            ? "Rejected."
            : `Rejected: ${app.rejectionReason.replace(/\.?\s*$/u, ".")}`}{" "}
          Any change makes it a draft again.
        </Notice>
      )}
      {app.status === "draft" && (
        <Notice>A platform admin has to approve this draft before it can be installed.</Notice>
      )}
      <PageTabs
        label="Parts of the app"
        tabs={[
          {
            name: "listing",
            label: "Listing",
            content: () => <Listing app={app} isAdmin />,
          },
          { name: "plans", label: "Plans", content: () => <AppPlans app={app} /> },
          { name: "installs", label: "Installs", content: () => <AppInstalls app={app} /> },
          { name: "admins", label: "Admins", content: () => <Admins app={app} /> },
          { name: "provisioning", label: "Provisioning", content: () => <Provisioning app={app} /> },
        ]}
      />
      <Confirm
        title={`Archive ${name}?`}
        about="It leaves the marketplace. What is installed goes on."
        verb="Archive"
        typed={name}
        open={asking}
        call={archive}
        onCancel={() => setAsking(false)}
        onConfirm={() => void archive.run({ appId }).then((done) => done && setAsking(false))}
      />
    </Page>
  );
}
