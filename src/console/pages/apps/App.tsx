import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { AccessService } from "../../../../gen/atrium/access/v1/access_pb.ts";
import type { GetMeResponse } from "../../../../gen/atrium/access/v1/access_pb.ts";
import { BuyerService, InstallAppRequestSchema } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import type { App as AppRecord } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { holds } from "../../powers.ts";
import { useMe } from "../../session/use-session.ts";
import { Button, ButtonLink } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { money, per } from "./money.ts";
import style from "./Apps.module.css";

/** One app of the marketplace. */
export default function App() {
  const { slug = "" }: { slug?: string } = useParams({ strict: false });
  const answer = useQuery(BuyerService.method.getApp, { slug });
  if (answer.data === undefined)
    return (
      <Page title="App">
        <Answer of={answer} backLink={["/console/apps", "Go to the marketplace"]}>
          {() => null}
        </Answer>
      </Page>
    );
  return <Details app={answer.data} />;
}

function Details({ app }: { app: AppRecord }) {
  const me = useMe();
  const [installing, setInstalling] = useState(false);
  const access = useQuery(AccessService.method.getAppAccess, { appId: app.appId });
  const { installId = "", installStatus = "deprovisioned" } = access.data ?? {};
  const isInstalled = installStatus !== "deprovisioned";
  const mayInstall = holds(me, "admin");
  return (
    <Page
      title={app.name}
      about={app.description}
      actions={
        isInstalled ? (
          <ButtonLink to={`/console/installs/${installId}`}>Open the install</ButtonLink>
        ) : (
          mayInstall && (
            <Button look="primary" data-create onClick={() => setInstalling(true)}>
              Install
            </Button>
          )
        )
      }
    >
      <Section title="Details">
        <Facts>
          {[
            ["Publisher", app.publisher?.name],
            ["Pricing", inWords(app.pricingModel)],
            ["From", money(app.basePriceCents, app.currency)],
            ["Deployment", app.deploymentModes.map(inWords).join(", ")],
            access.data !== undefined && [
              "In this organization",
              isInstalled ? (
                <Link to={`/console/installs/${installId}`}>{inWords(installStatus)}</Link>
              ) : mayInstall ? (
                "Not installed"
              ) : (
                "Not installed: the admins of your organization install apps"
              ),
            ],
          ]}
        </Facts>
      </Section>
      <Section title="Plans">
        {app.plans.length === 0 ? (
          <p>This app has no plans: it is installed as it is.</p>
        ) : (
          <ul className={style["plans"]}>
            {app.plans.map((plan) => (
              <li key={plan.planId}>
                <strong>{plan.name}</strong> · {money(plan.priceCents, app.currency)} {per(plan.interval)}
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section
        title="What the publisher is told"
        about="Its server gets this when you install. No address and no name of a person is among it."
      >
        <Rows
          caption="What the publisher is told"
          rows={toldOf(app, me)}
          rowKey={([name]) => name}
          columns={[
            { header: "Field", cell: ([name]) => <code>{name}</code> },
            { header: "Value", cell: ([, value]) => value },
          ]}
        />
      </Section>
      <CodeSample http={`POST /api/marketplace/${app.slug}/install`} body={{}} />
      {installing && <Install app={app} onClose={() => setInstalling(false)} />}
    </Page>
  );
}

/** The members of the message that an install sends to the publisher. */
const toldOf = (app: AppRecord, me: GetMeResponse): (readonly [name: string, value: string])[] => [
  ["install_id", "Id of the new install"],
  ["app_id, slug", `${app.appId}, ${app.slug}`],
  ["org", `${me.orgName ?? ""}, ${me.orgUuid ?? ""}`],
  ["installed_by", `Your id: ${me.userUuid ?? "none"}`],
  ["plan_id, quantity", "The plan and the seats that you choose"],
  ["deployment_mode", app.deploymentModes.map(inWords).join(" or ")],
  ["payment_source", "Whether it is free or paid for, and by which provider"],
  ["sandbox", me.sandbox ? "Yes" : "No"],
  ["callback_url, expires_at", "Where, and until when, its server reports how the install went"],
];

function Install({ app, onClose }: { app: AppRecord; onClose: () => void }) {
  const navigate = useNavigate();
  const form = useForm(InstallAppRequestSchema, {
    slug: app.slug,
    quantity: 1,
    ...(app.plans[0] !== undefined && { planId: app.plans[0].planId }),
    ...(app.deploymentModes[0] !== undefined && { deploymentMode: app.deploymentModes[0] }),
  });
  const call = useCall(BuyerService.method.installApp, { done: "Install requested" });
  const plan = app.plans.find(({ planId }) => planId === form.values.planId);
  const seats = Number(form.values.quantity ?? 1);
  const total = (plan?.priceCents ?? app.basePriceCents) * seats;
  return (
    <Dialog title={`Install ${app.name}`} open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          const install = await call.run(values);
          if (install !== undefined)
            void navigate({ to: `/console/installs/${install.installId}`, ignoreBlocker: true });
        })}
      >
        {app.plans.length > 0 && (
          <Select
            label="Plan"
            value={String(form.values.planId)}
            onChange={(planId) => form.set({ planId })}
            options={app.plans.map(({ planId, name, priceCents }) => [
              planId,
              `${name}, ${money(priceCents, app.currency)}`,
            ])}
          />
        )}
        <Field form={form} name="quantity" label="Seats" />
        <Select
          label="Deployment"
          value={String(form.values.deploymentMode)}
          onChange={(deploymentMode) => form.set({ deploymentMode })}
          options={app.deploymentModes.map((mode) => [mode, inWords(mode)])}
        />
        <p role="status">
          {Number.isInteger(seats) && seats > 0 && (
            <>
              Total {money(total, app.currency)}
              {plan !== undefined && ` ${per(plan.interval)}`}
            </>
          )}
        </p>
        <SubmitActions call={call} verb="Install" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
