import { useQuery } from "@connectrpc/connect-query";
import { useId, useState } from "react";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { Dialog, DialogActions } from "../../widgets/Dialog.tsx";
import { Input, Select } from "../../widgets/form/Field.tsx";
import { Answer } from "../../widgets/States.tsx";
import { RoleDiff } from "./Diff.tsx";
import { roleLabel, useRoles } from "./use-roles.ts";

interface SimulateProps {
  /** Role that is chosen at first. */
  roleId?: number;
  onClose: () => void;
}

/** What may be a whole address: one that is being typed is not asked for. */
const ADDRESS = /^[^\s@]+@[^\s@]+$/u;

/** Shows what a member would gain and lose with another role. Nothing is saved. */
export function Simulate({ roleId, onClose }: SimulateProps) {
  const list = useId();
  const [typed, setTyped] = useState("");
  const [role, setRole] = useState(roleId === undefined ? "" : String(roleId));
  const roles = useRoles();
  const people = useQuery(UsersService.method.listUsers, { limit: 20, ...(typed !== "" && { q: typed.trim() }) });
  // Not one of those: many addresses may contain it.
  const email = typed.trim();
  const isWhole = ADDRESS.test(email);
  const named = useQuery(UsersService.method.listUsers, { email, limit: 1 }, { enabled: isWhole });
  const member = isWhole ? named.data?.data[0] : undefined;
  const wanted = Number(role);
  return (
    <Dialog title="Simulate" about="What a member would gain and lose. Nothing is saved." open wide onClose={onClose}>
      <Input
        label="Member"
        value={typed}
        onChange={setTyped}
        list={list}
        autoComplete="off"
        placeholder="ada@example.com"
        hint={member === undefined ? "The email of a member." : `Now: ${roleLabel(member.roleId, member.role)}`}
      />
      <datalist id={list}>
        {people.data?.data.map(({ userUuid, email }) => (
          <option key={userUuid} value={email} />
        ))}
      </datalist>
      <Answer of={roles} lines={1}>
        {({ data }) => (
          <Select
            label="Role"
            value={role}
            onChange={setRole}
            options={[["", "Choose a role"], ...data.map(({ id, name }) => [String(id), roleLabel(id, name)] as const)]}
          />
        )}
      </Answer>
      {member !== undefined && role !== "" && <RoleDiff from={member.roleId} to={wanted} />}
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
      </DialogActions>
    </Dialog>
  );
}
