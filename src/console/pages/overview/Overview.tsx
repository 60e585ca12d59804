import { lazy, Suspense } from "react";
import { holds } from "../../powers.ts";
import { useMe } from "../../session/use-session.ts";
import { Page } from "../../widgets/Page.tsx";
import { Skeleton } from "../../widgets/States.tsx";
import { FirstOrganization } from "./FirstOrganization.tsx";
import { OwnApps } from "./OwnApps.tsx";
import { OwnSecurity } from "./OwnSecurity.tsx";
import { Setup } from "./Setup.tsx";

/** Charts are a third of the page's scripts: what is to be done is shown before they have come. */
const Charts = lazy(() => import("./Charts.tsx"));

/** The start of the console: the organization for admins, their own matters for everybody else. */
export default function Overview() {
  const me = useMe();
  if (me.orgUuid === undefined)
    return (
      <Page title="Overview" about="You are a member of no organization.">
        <FirstOrganization />
        <OwnSecurity />
      </Page>
    );
  if (!holds(me, "admin"))
    return (
      <Page title="Overview" about={`You are a member of ${me.orgName ?? "your organization"}.`}>
        <OwnApps />
        <OwnSecurity />
      </Page>
    );
  return (
    <Page title="Overview" about={`How ${me.orgName ?? "your organization"} stands.`}>
      <Setup />
      <Suspense fallback={<Skeleton lines={6} />}>
        <Charts />
      </Suspense>
    </Page>
  );
}
