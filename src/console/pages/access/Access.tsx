import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { AccessService, CheckEntitlementRequestSchema } from "../../../../gen/atrium/access/v1/access_pb.ts";
import type { ExplainedEntitlement } from "../../../../gen/atrium/access/v1/access_pb.ts";
import { serviceUrl } from "../../settings.ts";
import { useMe, useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { copyText } from "../../widgets/clipboard.ts";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Field, FormBody, Input } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Page, Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import table from "../../widgets/table/DataTable.module.css";
import { Rows } from "../../widgets/table/Rows.tsx";
import { toast } from "../../widgets/toasts.ts";
import { featuresIn, shellCheck } from "./checks.ts";
import style from "./Access.module.css";

/** Most checks in one call. */
const MOST = 100;

/** What the caller's token opens, feature by feature, and what decided it. */
export default function Access() {
  const me = useMe();
  const own = useOrg();
  const navigate = useNavigate();
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const asked = featuresIn(search["features"] ?? "");
  const features = (asked.length > 0 ? asked : me.entitlements).slice(0, MOST);
  const orgUuid = search["in"] ?? own;
  const [text, setText] = useState(asked.join(" "));
  const form = useForm(CheckEntitlementRequestSchema, { orgUuid });
  const answer = useQuery(
    AccessService.method.checkEntitlements,
    { checks: features.map((feature) => ({ feature, orgUuid })) },
    { enabled: features.length > 0 },
  );
  return (
    <Page
      title="Explain access"
      about="Which features your token opens, and what decides it: a claim, a grant or an install."
    >
      <Section title="Check">
        <FormBody
          form={form}
          onSubmit={form.submit(({ orgUuid: wanted }) => {
            const next = { features: featuresIn(text).join(" "), ...(wanted !== own && { in: wanted ?? "" }) };
            void navigate({ to: ".", search: next });
          })}
        >
          <Input
            label="Feature"
            value={text}
            onChange={setText}
            data-page-search
            spellCheck={false}
            autoComplete="off"
            placeholder="sso app:my-app"
            hint={`One or more, such as sso or app:my-app; at most ${MOST}. Empty: all that your token names.`}
          />
          <Field
            form={form}
            name="orgUuid"
            hint="Id of the organization that is asked about"
            spellCheck={false}
            autoComplete="off"
          />
          <div>
            <Button look="primary" type="submit">
              Check
            </Button>
          </div>
        </FormBody>
      </Section>
      <Section title="Verdicts">
        {features.length === 0 ? (
          <Empty
            text="Your token names no feature: the plan of the organization has none, and no app is installed."
            api="POST /api/entitlements/check-batch"
          />
        ) : (
          <Answer of={answer}>{({ data }) => <Verdicts rows={data} />}</Answer>
        )}
      </Section>
      <CodeSample
        http="POST /api/entitlements/check-batch"
        body={{ checks: (features.length > 0 ? features : ["sso"]).map((feature) => ({ feature, org_uuid: orgUuid })) }}
      />
    </Page>
  );
}

function Verdicts({ rows }: { rows: readonly ExplainedEntitlement[] }) {
  return (
    <Rows
      caption="Verdicts"
      rows={rows}
      rowKey={({ feature }) => feature}
      columns={[
        { header: "Feature", cell: ({ feature }) => <code>{feature}</code> },
        { header: "Verdict", cell: ({ granted }) => <Status of={granted ? "granted" : "denied"} /> },
        { header: "Reason", cell: ({ reason }) => <code className={table["whole"]}>{reason}</code> },
        { header: "Decided by", cell: ({ explain }) => <Decided explain={explain} /> },
      ]}
      actions={({ feature, orgUuid }) => (
        <Button
          small
          onClick={() =>
            void copyText(shellCheck(serviceUrl, feature, orgUuid)).then(
              (isCopied) => isCopied && toast(`Copied the check of ${feature}`),
            )
          }
        >
          Copy as check
        </Button>
      )}
    />
  );
}

/** The claim, grant or install that decided, with a link where there is a page of it. */
function Decided({ explain }: Pick<ExplainedEntitlement, "explain">) {
  const { decidedBy = "none", claim, grantId, appId, installId, stepUpRequired = false } = explain ?? {};
  return (
    <div className={style["decided"]}>
      {decidedBy === "none" && <span>Nothing gives it</span>}
      {claim !== undefined && (
        <span>
          claim <code>{claim}</code>
        </span>
      )}
      {grantId !== undefined && (
        <span>
          grant <Id of={grantId} what="grant id" />
        </span>
      )}
      {installId !== undefined && <Link to={`/console/installs/${installId}`}>Open the install</Link>}
      {installId === undefined && appId !== undefined && (
        <span>
          app <Id of={appId} what="app id" />
        </span>
      )}
      {stepUpRequired && <span>An elevated token is missing.</span>}
    </div>
  );
}
