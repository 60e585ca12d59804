import { useState } from "react";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import type { User } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { ShowAsCode } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { FormBody, Select } from "../../widgets/form/Field.tsx";
import { Notice } from "../../widgets/Notice.tsx";
import { Answer } from "../../widgets/States.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { RoleDiff } from "../roles/Diff.tsx";
import { roleLabel, useRoles } from "../roles/use-roles.ts";
import { useOwnChange } from "./use-own-membership.ts";

/** Gives a member another role; what they gain and lose is shown before. */
export function ChangeRole({ user, onClose }: { user: User; onClose: () => void }) {
  const { userUuid, email, roleId, isOwner } = user;
  const own = useOwnChange(userUuid);
  const [chosen, setChosen] = useState(String(roleId));
  const roles = useRoles();
  const call = useCall(UsersService.method.setUserRole, { done: "Role changed" });
  const role = roles.data?.data.find(({ id }) => String(id) === chosen);
  const changed = chosen !== String(roleId);
  return (
    <Dialog
      title="Change role"
      about={`${email} works with the new role from the next request on.`}
      open
      wide
      dirty={changed}
      onClose={onClose}
    >
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          if (!changed || role === undefined) return onClose();
          void call.run({ userUuid, role: role.name }).then((done) => {
            if (done === undefined) return;
            onClose();
            own.changed();
          });
        }}
      >
        <Answer of={roles} lines={1}>
          {({ data }) => (
            <Select
              label="Role"
              value={chosen}
              onChange={setChosen}
              options={data.map(({ id, name }) => [String(id), roleLabel(id, name)])}
            />
          )}
        </Answer>
        {isOwner && changed && <Notice kind="warn">Owners have the role admin: another role ends ownership.</Notice>}
        {own.isOwn && changed && <Notice kind="warn">This is your own role.</Notice>}
        <RoleDiff from={roleId} to={Number(chosen)} />
        <ShowAsCode http={`PUT /api/users/${userUuid}/role`} body={{ role: role?.name ?? "manager" }} />
        <SubmitActions call={call} verb="Change role" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
