import { useQuery } from "@connectrpc/connect-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { MfaService } from "../../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import type { User } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button, ButtonLink } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { PermissionList } from "../roles/PermissionChecks.tsx";
import { roleLabel, useCatalogue, useRolePermissions } from "../roles/use-roles.ts";
import { ChangeRole } from "./ChangeRole.tsx";
import { MemberEvents, MemberSessions } from "./Activity.tsx";
import { useIsOwner, useOwnChange } from "./use-own-membership.ts";

/** One member: who they are, what they may do, where they are signed in, and what happened. */
export default function Member() {
  const { user: userUuid = "" }: { user?: string } = useParams({ strict: false });
  const answer = useQuery(UsersService.method.listUsers, { userUuid, limit: 1 });
  const user = answer.data?.data[0];
  if (user !== undefined) return <Details user={user} />;
  return (
    <Page title="Member">
      <Answer of={answer}>
        {() => (
          <Empty
            text="This organization has no such member."
            action={<ButtonLink to="/console/members">Go to the members</ButtonLink>}
          />
        )}
      </Answer>
    </Page>
  );
}

type Act = "role" | "deactivate" | "remove" | "owner" | "factors";

function Details({ user }: { user: User }) {
  const navigate = useNavigate();
  const { userUuid, email, firstName, role, roleId, isOwner, status, mfaActive } = user;
  const name = firstName || email;
  const byOwner = useIsOwner();
  const mayChange = !isOwner || byOwner;
  const own = useOwnChange(userUuid);
  const [asked, setAsked] = useState<Act>();
  const close = (): void => setAsked(undefined);
  const reactivate = useCall(UsersService.method.updateUser, { done: "Member reactivated" });
  const deactivate = useCall(UsersService.method.updateUser, {
    done: "Member deactivated",
    ...(!own.isOwn && { undo: () => void reactivate.run({ userUuid, status: "active" }) }),
  });
  const ownership = useCall(UsersService.method.updateUser, {
    done: ({ isOwner: now }) => (now ? "They own the organization now" : "Ownership ended"),
  });
  const factors = useCall(MfaService.method.deleteMemberFactors, { done: "Second factor removed" });
  const remove = useCall(UsersService.method.deleteUser, { done: "Member removed" });

  return (
    <Page
      title={name}
      {...(name !== email && { about: email })}
      actions={
        mayChange && (
          <>
            <Button look="primary" onClick={() => setAsked("role")}>
              Change role
            </Button>
            {status === "active" ? (
              <Button onClick={() => setAsked("deactivate")}>Deactivate</Button>
            ) : (
              <Button busy={reactivate.busy} onClick={() => void reactivate.run({ userUuid, status: "active" })}>
                Reactivate
              </Button>
            )}
            {byOwner && status === "active" && (
              <Button onClick={() => setAsked("owner")}>{isOwner ? "End ownership" : "Make owner"}</Button>
            )}
            {mfaActive && <Button onClick={() => setAsked("factors")}>Remove second factor</Button>}
            <Button onClick={() => setAsked("remove")}>Remove</Button>
          </>
        )
      }
    >
      {reactivate.failure !== undefined && <FailureNotice failure={reactivate.failure} />}
      <Section title="Details">
        <Facts>
          {[
            ["User id", <Id key="id" of={userUuid} what="user id" />],
            ["Email", email],
            ["Role", isOwner ? `${roleLabel(roleId, role)}, owner` : roleLabel(roleId, role)],
            ["Status", <Status key="status" of={status} />],
            ["Second factor", mfaActive ? "Active" : "None"],
            ["Last seen", <Time key="seen" at={user.lastSeenAt} />],
            ["Joined", <Time key="joined" at={user.createdAt} />],
          ]}
        </Facts>
      </Section>
      <MemberSessions userUuid={userUuid} name={name} />
      <MemberEvents userUuid={userUuid} />
      <Permissions user={user} />
      <CodeSample http={`GET /api/users?user_uuid=${userUuid}`} />
      {asked === "role" && <ChangeRole user={user} onClose={close} />}
      <Confirm
        title={`Deactivate ${name}?`}
        about="Their sessions in this organization end at once, their API keys are revoked, and their open invitations
          are withdrawn. They can be reactivated."
        verb="Deactivate"
        open={asked === "deactivate"}
        call={deactivate}
        onCancel={close}
        onConfirm={() =>
          void deactivate.run({ userUuid, status: "inactive" }).then((done) => {
            if (done === undefined) return;
            close();
            own.ended();
          })
        }
      />
      <Confirm
        title={isOwner ? `End the ownership of ${name}?` : `Make ${name} an owner?`}
        about={
          isOwner
            ? "They stay in the organization with the role admin, and can no longer change owners or delete it."
            : "Owners can do everything, also change other owners and delete the organization. They get the role admin."
        }
        verb={isOwner ? "End ownership" : "Make owner"}
        open={asked === "owner"}
        call={ownership}
        onCancel={close}
        onConfirm={() => void ownership.run({ userUuid, isOwner: !isOwner }).then((done) => done && close())}
      />
      <Confirm
        title={`Remove the second factor of ${name}?`}
        about="Their authenticators and recovery codes stop working and their sessions end. They are told by mail. It
          works only for people who belong to no other organization."
        verb="Remove second factor"
        open={asked === "factors"}
        call={factors}
        onCancel={close}
        onConfirm={() =>
          void factors.run({ userUuid }).then((done) => {
            if (done === undefined) return;
            close();
            own.ended();
          })
        }
      />
      <Confirm
        title={`Remove ${name}?`}
        about="Their sessions and API keys in this organization end at once. Invitations that they sent are withdrawn."
        verb="Remove"
        typed={email}
        open={asked === "remove"}
        call={remove}
        onCancel={close}
        onConfirm={() =>
          void remove.run({ userUuid }).then((done) => {
            if (done === undefined) return;
            if (own.isOwn) own.ended();
            else void navigate({ to: "/console/members" });
          })
        }
      />
    </Page>
  );
}

function Permissions({ user: { role, roleId } }: { user: User }) {
  const catalogue = useCatalogue();
  const held = useRolePermissions(roleId);
  return (
    <Section
      title="Permissions"
      about={`What the role ${roleLabel(roleId, role)} gives.`}
      actions={<ButtonLink to={`/console/roles/${roleId}`}>Open the role</ButtonLink>}
    >
      <Answer of={catalogue}>
        {({ data }) => (
          <Answer of={held}>
            {(has) => <PermissionList catalogue={data} held={new Set(has.data.map(({ name }) => name))} />}
          </Answer>
        )}
      </Answer>
    </Section>
  );
}
