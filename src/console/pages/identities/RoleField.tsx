import { Select } from "../../widgets/form/Field.tsx";
import { Answer } from "../../widgets/States.tsx";
import { roleLabel, useRoles } from "../roles/use-roles.ts";

interface RoleFieldProps {
  value: number | undefined;
  onChange: (roleId: number) => void;
  error: string | undefined;
}

/** The role of a service identity, as soon as the roles are known. */
export function RoleField({ value, onChange, error }: RoleFieldProps) {
  return (
    <Answer of={useRoles()} lines={1}>
      {({ data }) => (
        <Select
          label="Role"
          value={String(value)}
          onChange={(id) => onChange(Number(id))}
          options={data.map(({ id, name }) => [String(id), roleLabel(id, name)])}
          error={error}
        />
      )}
    </Answer>
  );
}
