import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { OperatorService } from "../../../../gen/atrium/operator/v1/operator_pb.ts";
import type { OrganizationOverview } from "../../../../gen/atrium/operator/v1/operator_pb.ts";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { FormBody, Select } from "../../widgets/form/Field.tsx";
import { Page } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { usePlanNames } from "../billing/use-plan-names.ts";

/** The organizations of the installation. */
export default function Organizations() {
  const planOf = usePlanNames();
  const [chosen, setChosen] = useState<OrganizationOverview>();
  return (
    <Page title="Organizations" about="Every organization of this installation, by name.">
      <DataTable
        caption="Organizations"
        things="organizations"
        method={OperatorService.method.listAllOrganizations}
        rowKey={({ orgUuid }) => orgUuid}
        columns={[
          { header: "Name", cell: ({ name }) => name, csv: ({ name }) => name },
          {
            header: "Id",
            cell: ({ orgUuid }) => <Id of={orgUuid} what="organization id" />,
            csv: ({ orgUuid }) => orgUuid,
          },
          { header: "Plan", cell: ({ plan }) => planOf(plan), csv: ({ plan }) => plan },
          {
            header: "Members",
            cell: ({ members }) => members.toLocaleString("en"),
            csv: ({ members }) => members,
            right: true,
          },
          { header: "Created", time: ({ createdAt }) => createdAt },
        ]}
        actions={(organization) => (
          <Button small title={organization.name} onClick={() => setChosen(organization)}>
            Set plan
          </Button>
        )}
        empty={{ text: "There is no organization.", api: "GET /api/admin/organizations" }}
      />
      <CodeSample http="GET /api/admin/organizations" />
      {chosen !== undefined && <SetPlan of={chosen} onClose={() => setChosen(undefined)} />}
    </Page>
  );
}

function SetPlan({ of, onClose }: { of: OrganizationOverview; onClose: () => void }) {
  const { orgUuid, name } = of;
  const plans = useQuery(BillingService.method.listPlans, {});
  const [plan, setPlan] = useState(of.plan);
  const call = useCall(UsersService.method.updateOrganization, { done: "Plan set" });
  return (
    <Dialog
      title={`Set plan of ${name}`}
      about="Its members have the entitlements of the plan with their next token."
      open
      dirty={plan !== of.plan}
      onClose={onClose}
    >
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          void call.run({ orgUuid, plan }).then((done) => done && onClose());
        }}
      >
        <Answer of={plans} lines={1}>
          {({ data }) => (
            <Select
              label="Plan"
              value={plan}
              onChange={setPlan}
              options={data.map((one) => [one.plan, `${one.name} (${one.plan})`])}
            />
          )}
        </Answer>
        <SubmitActions call={call} verb="Set plan" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
