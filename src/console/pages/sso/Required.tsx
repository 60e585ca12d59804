import { useQuery } from "@connectrpc/connect-query";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Check } from "../../widgets/form/Field.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { useIsOwner } from "../members/use-own-membership.ts";

/** The owners' switch: whether members enter by single sign-on alone. */
export function Required() {
  const orgUuid = useOrg();
  const isOwner = useIsOwner();
  const organization = useQuery(UsersService.method.getOrganization, { orgUuid });
  const update = useCall(UsersService.method.updateOrganization, {
    done: ({ ssoRequired }) => (ssoRequired ? "Single sign-on is required" : "Other ways to sign in are open"),
  });
  return (
    <Section
      title="Require single sign-on"
      about="Members other than owners then enter by a connection alone; passwords, codes and links do not let them in."
    >
      <Answer of={organization} lines={1}>
        {({ ssoRequired }) => (
          <Check
            role="switch"
            label={
              isOwner
                ? "Require single sign-on"
                : `Single sign-on is ${ssoRequired ? "" : "not "}required. Owners can change it.`
            }
            checked={ssoRequired}
            disabled={!isOwner}
            // While it is saved, disabling it would take the focus.
            aria-disabled={update.busy || undefined}
            onChange={(on) => void (!update.busy && update.run({ orgUuid, ssoRequired: on }))}
          />
        )}
      </Answer>
      {update.failure !== undefined && <FailureNotice failure={update.failure} />}
    </Section>
  );
}
