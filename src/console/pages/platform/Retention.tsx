import { useState } from "react";
import type { ReactNode } from "react";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { OperatorService, SetConfigRequestSchema } from "../../../../gen/atrium/operator/v1/operator_pb.ts";
import type { OrgConfig } from "../../../../gen/atrium/operator/v1/operator_pb.ts";
import { holds } from "../../powers.ts";
import { useMe } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm, Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { plural } from "../../widgets/words.ts";
import { usePlanNames } from "../billing/use-plan-names.ts";
import { useOrganizationNames } from "./use-organization-names.tsx";

/** How long the audit events of each organization are kept. */
export default function Retention() {
  const me = useMe();
  const nameOf = useOrganizationNames();
  const planOf = usePlanNames();
  const [chosen, setChosen] = useState<OrgConfig>();
  const [asking, setAsking] = useState(false);
  const own = me.orgUuid ?? "";
  const purge = useCall(AuthEventsService.method.purgeAuthEvents, {
    done: ({ purged }) => `${plural(purged, "event")} purged`,
  });
  return (
    <Page
      title="Retention"
      about="Days that audit events are kept. More than 90 days need the plan enterprise. Hashes stay for the proof."
    >
      <DataTable
        caption="Retention"
        things="organizations"
        method={OperatorService.method.getConfig}
        rowKey={({ orgUuid }) => orgUuid}
        columns={[
          { header: "Organization", cell: ({ orgUuid }) => nameOf(orgUuid), csv: ({ orgUuid }) => orgUuid },
          { header: "Plan", cell: ({ plan }) => planOf(plan), csv: ({ plan }) => plan },
          {
            header: "Days",
            cell: ({ auditRetentionDays }) => auditRetentionDays,
            csv: ({ auditRetentionDays }) => auditRetentionDays,
            right: true,
          },
          { header: "Changed", time: ({ updatedAt }) => updatedAt },
        ]}
        actions={(config) => (
          <>
            <Button small title={config.orgUuid} onClick={() => setChosen(config)}>
              Set
            </Button>
            {config.orgUuid === own && holds(me, "admin") && (
              <Button small onClick={() => setAsking(true)}>
                Purge
              </Button>
            )}
          </>
        )}
        empty={{ text: "There is no organization.", api: "GET /api/operator/config" }}
      />
      <CodeSample http={`GET /api/operator/config?org_uuid=${own}`} />
      {chosen !== undefined && (
        <SetDays of={chosen} name={nameOf(chosen.orgUuid)} onClose={() => setChosen(undefined)} />
      )}
      <Confirm
        title={`Purge ${me.orgName ?? ""}?`}
        about="Removes the payloads of events older than the days set. Their hashes stay, so the log can be verified."
        verb="Purge"
        typed={me.orgName}
        open={asking}
        call={purge}
        onCancel={() => setAsking(false)}
        onConfirm={() => void purge.run({ orgUuid: own }).then((done) => done && setAsking(false))}
      />
    </Page>
  );
}

function SetDays({ of, name, onClose }: { of: OrgConfig; name: ReactNode; onClose: () => void }) {
  const { orgUuid, auditRetentionDays } = of;
  const form = useForm(SetConfigRequestSchema, { orgUuid, auditRetentionDays });
  const call = useCall(OperatorService.method.setConfig, { done: "Retention set" });
  return (
    <Dialog title="Set retention" about={name} open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          if ((await call.run(values)) !== undefined) onClose();
        })}
      >
        <Field form={form} name="auditRetentionDays" hint="90 to 365" />
        <SubmitActions call={call} verb="Set" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
